"""The shared core of the workshop: everything that no lesson changes.

What a lesson teaches is written out in that lesson's ``agent.py``; what stays the same from the first
lesson to the last lives here: talking to the model, talking to the person, recordings, scenarios.
"""
