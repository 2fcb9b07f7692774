"""The former place of kernels that other tests import."""

from tests.emulator.tensor_core_kernels import HANDING_ON as HANDING_ON
from tests.emulator.tensor_core_kernels import PIPELINE as PIPELINE
from tests.emulator.tensor_core_kernels import STEPS as STEPS
from tests.emulator.tensor_core_kernels import WARPGROUP as WARPGROUP
