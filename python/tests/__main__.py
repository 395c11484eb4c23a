"""Runs the tests of this folder, and ends with how many passed and failed, as `node --test` says it."""

import sys
import unittest

if __name__ == "__main__":
    suite = unittest.defaultTestLoader.discover(sys.path[0])
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    n_failed = len({test.id() for test, _ in result.failures + result.errors})
    print(f"# pass {result.testsRun - n_failed}\n# fail {n_failed}")
    sys.exit(not result.wasSuccessful() or result.testsRun == 0)
