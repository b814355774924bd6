"""The course itself: behaviours, gates, pages. What keeps the lessons true; no lesson imports it."""
