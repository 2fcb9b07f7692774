"""The former place of kernels that other tests import."""

from tests.emulator.kernels import HANDING_ON as HANDING_ON
from tests.emulator.kernels import PIPELINE as PIPELINE
from tests.emulator.kernels import STEPS as STEPS
from tests.emulator.kernels import WARPGROUP as WARPGROUP
