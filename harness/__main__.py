"""``python -m harness``: the command line, for those who have no make."""

from harness.cli import main

if __name__ == "__main__":
    main()
