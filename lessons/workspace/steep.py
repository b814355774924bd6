"""Tell how hot and how long to steep a tea: python steep.py NAME"""

import csv
import sys
from pathlib import Path

VERSION = "0.3.0"
TEAS = Path(__file__).parent / "data" / "teas.csv"


def load_teas(path=TEAS):
    """Return {name: (celsius, seconds)} from a CSV file with a header line."""
    with open(path, newline="", encoding="utf-8") as file:
        return {row["name"]: (int(row["celsius"]), int(row["seconds"])) for row in csv.DictReader(file)}


def spoken(seconds):
    """Write a time as a person says it: 90 -> '1 min 30 s'."""
    minutes, rest = divmod(seconds, 60)
    parts = [f"{minutes} min" if minutes else "", f"{rest} s" if rest else ""]
    return " ".join(filter(None, parts)) or "0 s"


def main(arguments):
    teas = load_teas()
    if len(arguments) != 1 or arguments[0] not in teas:
        print("usage: steep.py NAME, one of:", ", ".join(sorted(teas)))
        return 2
    celsius, seconds = teas[arguments[0]]
    print(f"{arguments[0]}: {celsius} °C for {spoken(seconds)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
