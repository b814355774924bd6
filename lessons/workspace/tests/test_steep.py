import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import steep


class Steep(unittest.TestCase):
    def test_every_tea_has_a_sensible_time(self):
        for name, (celsius, seconds) in steep.load_teas().items():
            self.assertTrue(40 <= celsius <= 100 and 30 <= seconds <= 600, name)

    def test_times_are_spoken(self):
        self.assertEqual(steep.spoken(90), "1 min 30 s")
        self.assertEqual(steep.spoken(120), "2 min")
        self.assertEqual(steep.spoken(45), "45 s")

    def test_unknown_tea_is_an_error(self):
        self.assertEqual(steep.main(["coffee"]), 2)


if __name__ == "__main__":
    unittest.main()
