"""``python -m privet`` is ``privet``."""

import sys

from privet.cli.main import main

sys.exit(main())
