"""The roles of a kernel's parameters, from its body or else from their names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from mmcore.errors import InvalidKernel, LacksOption
from mmcore.kernel.arguments import FACTORS, SIZES, Argument, Scalar, Workspace
from mmcore.kernel.signature import Parameter as Typed
from mmcore.kernel.sizes import Sizes
from mmcore_cuda.cuda_source.functions import Function
from mmcore_cuda.cuda_source.parameters import Parameter
from mmcore_cuda.cuda_source.tree import text_of
from mmcore_sources.cuda_file.inference.batches import goes_from_product_to_product, index_of_product, of_batch
from mmcore_sources.cuda_file.inference.body import Body
from mmcore_sources.cuda_file.inference.counted_columns import blocks_of_row
from mmcore_sources.cuda_file.inference.flags import flags_of
from mmcore_sources.cuda_file.inference.logarithms import logarithms_of
from mmcore_sources.cuda_file.inference.old_c import MATRIX, old_c
from mmcore_sources.cuda_file.inference.product_sizes import sizes_of
from mmcore_sources.cuda_file.inference.row_lengths import side_of_squares
from mmcore_sources.cuda_file.inference.size_names import last_word, sure_role, usual_role
from mmcore_sources.cuda_file.inference.structures import structure_of
from mmcore_sources.cuda_file.inference.tile_counters import refuse_tile_counters, tile_counters
from mmcore_sources.cuda_file.inference.transposed_sizes import transposed_structures

ELEMENTS = {
    **dict.fromkeys(("int", "int4", "int32_t", "signed int"), "int32"),
    **dict.fromkeys(("char", "signed char", "int8_t", "char4"), "int8"),
    **dict.fromkeys(("unsigned char", "uint8_t", "uchar4"), "uint8"),
    **dict.fromkeys(("float", "float2", "float3", "float4"), "float32"),
    **dict.fromkeys(("double", "double2", "double4"), "float64"),
    **dict.fromkeys(("half", "__half", "half2", "__half2"), "float16"),
    **dict.fromkeys(("nv_bfloat16", "__nv_bfloat16", "__nv_bfloat162", "nv_bfloat162"), "bfloat16"),
    "__nv_fp8_e4m3": "float8_e4m3fn",
    "__nv_fp8_e5m2": "float8_e5m2",
}
_COUNT = re.compile(r"split|slice|stage|step|tile|chunk|batch|block", re.IGNORECASE)  # no size of a matrix
_OF_PART = r"\bblockIdx\.z\s*\*\s*(\w+)"  # the step from one block's part of k to the next
_EDGE = re.compile(r"b[mnk]|(?:tile|block)_?(?:size|dim|width|edge)?|ts|bs", re.IGNORECASE)  # a tile's, in elements
_USUAL_EDGE = 16
OFFSET = re.compile(r"off(?:set)?(?![a-z])|start|first|begin", re.IGNORECASE)
"""The names of places to begin at."""
_ADVICE = {"Accessor": "; take pointers instead, such as a.data_ptr<float>()"}
_FACTOR = re.compile(r"alpha|beta", re.IGNORECASE)
ZEROS = bytes(4 << 20)
"""The content of a parameter that may be a bias or the like."""
_ROOM = 64 << 20  # bytes
_OTHER = re.compile(r"bias|scale|resid|work|te?mp|count|lock|flag|stat|debug", re.IGNORECASE)  # no matrix's name


@dataclass(frozen=True)
class Roles:
    """The roles of the parameters."""

    arguments: tuple[Argument, ...]  # in the order of the parameters
    sizes: Mapping[str, str]  # the role of each number ("m", "n", "k", "lda", "ldb", "ldc"), by the parameter's name
    pointers: Mapping[str, str]  # the parameter's name of each matrix
    why: str  # the origin of the sizes
    by_columns: bool = False  # True if the source stores its matrices by columns
    guessed: bool = False  # True if the sizes follow from the order of the parameters only
    batch: bool = False  # True if blocks along z or launches compute the products of a batch; the first one is run
    fixed: Mapping[str, int] = field(default_factory=dict)  # sizes that constants fix beside those that are passed
    pair: str = ""  # two sizes that one parameter is, such as "mn"
    of_squares: bool = False  # True if one size limits rows, columns and k beside leading dimensions
    of_blocks: bool = False  # True if no size, but the number of blocks, is the length of C's rows

    @property
    def square(self) -> bool:
        """True if the sizes suffice for square matrices only."""
        roles = {*self.sizes.values(), *self.fixed, *self.pair}
        if self.of_blocks:
            return False
        return self.of_squares or (bool(roles) and not ({"n", "k"} <= roles or {"lda", "ldb"} <= roles))

    @property
    def equal(self) -> str:
        """The sizes that are equal: "mnk" of square matrices, two such as "mn" that one parameter is, or none."""
        return "mnk" if self.square else self.pair

    def names_of(self, size: str) -> set[str]:
        """Return the names of a size, and of those that equal it."""
        sizes = {size, *self.equal} if size in self.equal else {size}
        return {name for name, role in self.sizes.items() if role in sizes}

    def sizes_in(self, numbers: Mapping[str, int]) -> dict[str, int]:
        """Return m, n and k among the numbers of parameters; those that are equal are one number."""
        named = {role: numbers[name] for name, role in self.sizes.items() if name in numbers}
        sizes = {role: number for role, number in named.items() if role in Sizes._fields}
        if passed := sizes.keys() & {*self.equal}:
            sizes |= dict.fromkeys(self.equal, max(sizes[role] for role in passed))
        return sizes


def scalar_type(word: str) -> str:
    """Return numpy's name of a numeric type of C; empty for others."""
    return {"uint": "uint32", "bool": "int8"}.get(word) or ELEMENTS.get(word) or Typed("", word).scalar


def matrices_of(function: Function, body: Body) -> dict[str, str]:
    """Return the names of the pointers that are A, B and C."""
    pointers = [parameter for parameter in function.parameters if parameter.pointer or parameter.members]
    pointers = [each for each in pointers if each.name != old_c(function, body)]
    if not pointers:
        if len(function.parameters) >= len("ABC") and not body.stores:
            raise InvalidKernel(f"{function.name} uses none of its parameters as an array, so that it has no product")
        only = f"{function.name} takes no pointer, and only matrices that are passed can be filled and verified"
        raise InvalidKernel(f"{only}: make A, B and C its parameters instead of global arrays")
    if len(pointers) != 3:
        listed = ", ".join(map(str, pointers))
        takes = f"{function.name} takes {len(pointers)} pointer{'s' * (len(pointers) != 1)} ({listed}), not three"
        way = "--args gives the role of each" if len(pointers) > len("ABC") else "a product needs A, B and C"
        raise InvalidKernel(f"{takes}; {way}")
    named = {match[1].upper(): each for each in pointers if (match := MATRIX.fullmatch(each.name.casefold()))}
    written = list(dict.fromkeys(pointer for pointer, _ in body.stores))
    writable = [each for each in pointers if not each.const]
    output = next((each for each in pointers if [each.name] == written), None) or named.get("C")
    output = output or (writable[0] if len(writable) == 1 else pointers[-1])
    inputs = [each for each in pointers if each is not output]
    if len(named) == 3 and named["C"] is output:
        inputs = [named["A"], named["B"]]
    return {"A": inputs[0].name, "B": inputs[1].name, "C": output.name}


def _zeros(function: Function, body: Body) -> frozenset[str]:
    """Return the pointers that get zeros: all but the one that is stored to and two others, if there are more."""
    pointers = [each for each in function.parameters if each.pointer or each.members]
    if len(pointers) <= len("ABC") or old_c(function, body):
        return frozenset()
    counters = tile_counters(function)
    written = list(dict.fromkeys(pointer for pointer, _ in body.stores if pointer not in counters))
    writable = [each for each in pointers if not each.const]
    last = writable[0] if len(writable) == 1 else pointers[-1]
    named = {each.name: match[1] for each in pointers if (match := MATRIX.fullmatch(each.name.casefold()))}
    written = sorted(written, key=lambda name: named.get(name) != "c")  # parts of sums may be stored before
    output = next((each for each in pointers if each.name in written[:1]), last)
    maps = [each for each in pointers if each.is_tensor_map]
    likely = sorted(
        pointers,
        key=lambda each: (each not in maps, each.name not in named, _OTHER.search(last_word(each.name)) is not None),
    )
    kept = maps[:3] if len(maps) > 2 else [output, *[each for each in likely if each is not output][:2]]
    return frozenset(each.name for each in pointers if each not in kept)


def _other_array(name: str, body: Body) -> Workspace:
    """Return the memory of a pointer that is no matrix: zeros, and room for what the kernel stores there itself."""
    is_stored = any(pointer == name for pointer, _ in body.stores)
    return Workspace(name, _ROOM if is_stored else len(ZEROS), ZEROS)


def _roles_with_zeros(
    function: Function,
    body: Body,
    zeros: frozenset[str],
    launched: Mapping[str, int],
    unused: Mapping[str, int],
    *,
    by_rows: bool,
) -> Roles:
    """Return the roles of a function of which some pointers get zeros, such as a bias."""
    rest = replace(function, parameters=tuple(each for each in function.parameters if each.name not in zeros))
    try:
        roles = roles_of(rest, Body(rest), launched, unused, by_rows=by_rows)
    except LacksOption as error:
        words = iter(error.options[0].removeprefix("--args ").split(","))
        option = ",".join("0" if each.name in zeros else next(words) for each in function.parameters)
        raise LacksOption(str(error), f"--args {option}") from None
    known = iter(roles.arguments)
    arguments = (_other_array(each.name, body) if each.name in zeros else next(known) for each in function.parameters)
    why = f"of {len(zeros) + len('ABC')} pointers, {' and '.join(sorted(zeros))} may be no matrix and gets zeros"
    return replace(roles, arguments=tuple(arguments), why=why, guessed=True)


def roles_of(
    function: Function,
    body: Body,
    launched: Mapping[str, int],
    unused: Mapping[str, int] = MappingProxyType({}),
    *,
    by_rows: bool = False,
) -> Roles:
    """Return the roles of a function's parameters.

    ``launched`` contains the numbers that a launch passes, by parameter, and ``unused`` those of parameters without a
    role. ``by_rows`` says that no matrix is stored by columns. Raises InvalidKernel for an unknown role.
    """
    for parameter in function.parameters:
        if not parameter.pointer and not parameter.members and not scalar_type(parameter.type):
            advice = next((text for name, text in _ADVICE.items() if name in str(parameter)), "")
            advice = advice or "; take the numbers in it as parameters instead, such as int m, int n, int k"
            what = f"{str(parameter)!r}, which is neither a pointer nor a number{advice}"
            raise InvalidKernel(f"{function.name} takes {what}")
        if parameter.type.endswith("*"):
            by_block = re.search(rf"\b{parameter.name}\s*\[\s*blockIdx\b", text_of(function.body))
            what = (
                f"{str(parameter)!r}, an array of {'matrices' if by_block else 'rows'}, each at an address of its own"
            )
            one = f"{parameter.type[:-1]}* {parameter.name}, indexed {parameter.name}[i * n + j]"
            raise InvalidKernel(f"{function.name} takes {what}; only matrices in one array, as {one}, can be run")
    refuse_tile_counters(function, frozenset(each.name for each in function.parameters if each.pointer))
    if zeros := _zeros(function, body):
        return _roles_with_zeros(function, body, zeros, launched, unused, by_rows=by_rows)
    matrices = matrices_of(function, body)
    numbers = [each for each in function.parameters if not each.pointer and not each.members]
    factors = {each.name for each in numbers if _FACTOR.search(each.name)}
    integers = [each.name for each in numbers if "int" in scalar_type(each.type) and each.name not in factors]
    batch = of_batch(integers, body) | index_of_product(integers, body, matrices)
    offsets = {name: 0 for name in integers if OFFSET.search(last_word(name))} | batch
    edges = {name: launched.get(name, _USUAL_EDGE) for name in integers if _EDGE.fullmatch(last_word(name))}
    offsets |= edges if len(edges) + len(offsets) < len(integers) else {}
    flags = flags_of(body, (name for name in integers if usual_role(name) not in SIZES))
    offsets |= {name: launched.get(name, 0) for name in flags}
    counts = _counts([name for name in integers if name not in offsets], matrices, launched)
    offsets |= {**counts, **unused}
    powers = {name: f"1<<{name}" for name in logarithms_of(body, integers)}
    integers = [powers.get(name, name) for name in integers if name not in offsets]
    sizes, why, by_columns = sizes_of(integers, body, matrices, by_rows=by_rows)
    guessed = bool(offsets.keys() - batch.keys() - unused.keys() - ({*edges, *flags} & launched.keys()) - counts.keys())
    unknown = [name for name in integers if name not in sizes]
    free = [role for role in ("m", "n", "k") if role not in sizes.values()]
    fixed = {
        name: launched[name] for name in unknown if name in launched and (not free or _COUNT.search(last_word(name)))
    }
    fixed |= offsets
    if len(unknown) > len(free):
        fixed |= {name: launched.get(name, 1) for name in unknown if name not in body.names}
    if unknown := [name for name in unknown if name not in fixed]:
        if len(unknown) > len(free):
            known = {**sizes, **{name: matrix for matrix, name in matrices.items()}, **dict.fromkeys(fixed, "0")}
            parts = dict.fromkeys(re.findall(_OF_PART, text_of(function.body)), "k")  # for one block along z
            known = {**parts, **known}
            words = (known.get(each.name) or _FACTOR.search(each.name) or "1" for each in function.parameters)
            raise LacksOption(
                f"the role of {unknown[0]} in {function.name} is unknown; --args gives the role of each parameter",
                f"--args {','.join(word if isinstance(word, str) else word[0].lower() for word in words)}",
            )
        sizes, why, guessed = sizes | dict(zip(unknown, free, strict=False)), "by the order of the parameters", True
    if not {"n", "k"} <= {*sizes.values()}:  # of square matrices, whose rows are the powers
        sizes |= dict.fromkeys(powers.values(), "n")
    of_pointer = {name: matrix for matrix, name in matrices.items()} | {old_c(function, body): "C"}
    reals = [
        each.name for each in numbers if powers.get(each.name, each.name) not in sizes.keys() | fixed.keys() | factors
    ]
    beta = any(adds for pointer, adds in body.stores if pointer == matrices["C"])
    meanings = dict(zip(reals, ("alpha", "beta") if beta else ("alpha",), strict=False))
    guessed = guessed or bool(reals)
    arguments: list[Argument] = []
    transposed = [] if by_rows else transposed_structures(body, matrices)
    for each in function.parameters:
        if each.members:
            matrix = of_pointer[each.name]
            structure, members = structure_of(each, matrix, scalars_of(each), transposed=matrix in transposed)
            arguments.append(structure)
            sizes, why = sizes | members, "by the names of their members"
        elif each.name in fixed:
            arguments.append(Scalar(fixed[each.name], scalar_type(each.type)))
        else:
            arguments.append(of_pointer[each.name] if each.pointer else _number(each, sizes, meanings))
    several = bool(batch) or goes_from_product_to_product(body, matrices.values(), sizes)
    squares = bool(side_of_squares(sizes, body))
    blocks = bool(blocks_of_row(body, matrices, sizes))
    return Roles(
        tuple(arguments), sizes, matrices, why, by_columns, guessed, several, of_squares=squares, of_blocks=blocks
    )


def _counts(names: list[str], matrices: Mapping[str, str], launched: Mapping[str, int]) -> dict[str, int]:
    """Return the constants that a launch passes beside up to three unknown sizes, as the elements of a thread."""
    named = {name for name in names if sure_role(name, matrices) or usual_role(name) in SIZES}
    constants = {name: launched[name] for name in names if name in launched.keys() - named}
    return constants if len(names) > len("mnk") >= len(names) - len(constants) > 1 else {}


def scalars_of(parameter: Parameter) -> dict[str, str]:
    """Return the scalar types of a structure's members by their types in the source."""
    return {each.type: scalar_type(each.type) for each in parameter.members}


def passed_factors(body: Body, roles: Roles) -> dict[str, bool]:
    """Return whether the body uses the floating-point parameters alpha and beta, for those that the kernel has."""
    pairs = zip(roles.arguments, body.function.parameters, strict=False)
    return {
        str(role.value): parameter.name in body.names
        for role, parameter in pairs
        if isinstance(role, Scalar) and role.value in FACTORS and "int" not in role.type
    }


def adds_to_c(body: Body, roles: Roles) -> bool:
    """Return whether every store to C adds to the old value, as a parameter beta that the body uses implies."""
    pairs = zip(roles.arguments, body.function.parameters, strict=False)
    used = (role for role, parameter in pairs if parameter.name in body.names)
    if any(isinstance(each, Scalar) and each.value == "beta" for each in used):
        return True
    if roles.arguments.count("C") > 1:  # D = A·B + C
        return True
    stores = [adds for pointer, adds in body.stores if pointer == roles.pointers["C"]]
    return bool(stores) and all(stores)


def _number(parameter: Parameter, sizes: Mapping[str, str], meanings: Mapping[str, str]) -> Argument:
    dtype = scalar_type(parameter.type)
    if (power := f"1<<{parameter.name}") in sizes:
        return Scalar(f"log2({sizes[power]})", dtype)
    if parameter.name in sizes:
        role = sizes[parameter.name]
        return role if dtype == "int32" else Scalar(role, dtype)
    factor = _FACTOR.search(parameter.name)
    return Scalar(factor[0].lower() if factor else meanings.get(parameter.name, 1), dtype)
