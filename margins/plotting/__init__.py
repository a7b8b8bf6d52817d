"""Figures of fits and studies, in the style of scikit-learn's displays. Needs matplotlib.

>>> from margins.plotting import LandscapeDisplay
>>> LandscapeDisplay.from_study(study).figure_.savefig("tau.png")  # doctest: +SKIP

Every display class has the drawn data as plain attributes, draws them again with ``plot(ax=...)``, and
keeps the axes and figure of the last drawing as ``ax_`` and ``figure_``. The colours by Okabe & Ito are
distinguishable with colour blindness; lines also differ in their markers or dashes.
"""

from margins.plotting.comparison import (
    ComparisonDisplay,
    GapsDisplay,
    InfluenceDisplay,
    PermutationTestDisplay,
    RanksDisplay,
)
from margins.plotting.curves import CertificateDisplay, CoefficientPathDisplay, EpochsDisplay
from margins.plotting.landscape import LandscapeDisplay
from margins.plotting.plane import MarginDisplay

__all__ = [
    "CertificateDisplay",
    "CoefficientPathDisplay",
    "ComparisonDisplay",
    "EpochsDisplay",
    "GapsDisplay",
    "InfluenceDisplay",
    "LandscapeDisplay",
    "MarginDisplay",
    "PermutationTestDisplay",
    "RanksDisplay",
]
