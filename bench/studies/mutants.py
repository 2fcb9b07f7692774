"""The strength of the tests: small changes of the code, called mutants, and whether a test fails for each.

``draw`` takes lines that tests cover, and changes each by an operator of cosmic-ray, which must be installed.
``run`` makes each change in turn in this working tree, and runs the tests that cover its line. Both read the coverage
that ``pytest --cov --cov-context=test`` writes.
"""

from __future__ import annotations

import ast
import functools
import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from coverage import CoverageData

from bench.studies.study import ROOT, write

SECONDS = 300
MOST_TESTS = 800
KILLED = (1, 2, 4)  # pytest's exit statuses: a test failed, was interrupted, or cannot be collected
Mutant = dict[str, Any]


def covering_tests(data: CoverageData, path: Path) -> dict[int, list[str]]:
    """Return the names of the tests that cover each line of a file."""
    contexts = data.contexts_by_lineno(str(path.absolute())).items()
    tests = {line: sorted({each.partition("|")[0] for each in found if "::" in each}) for line, found in contexts}
    return {line: names for line, names in tests.items() if names}


@functools.cache
def mutations(source: str) -> dict[int, list[tuple[str, int]]]:
    """Return the operators that can change each line of a source, each with its occurrence in the file."""
    from cosmic_ray import plugins
    from cosmic_ray.ast import ast_nodes, get_ast

    nodes, places = list(ast_nodes(get_ast(source))), dict[int, list[tuple[str, int]]]()
    for name in plugins.operator_names():
        try:
            operator = plugins.get_operator(name)()
        except TypeError:  # it takes arguments
            continue
        starts = [start for node in nodes for (start, _), _ in operator.mutation_positions(node)]
        for occurrence, line in enumerate(starts):
            places.setdefault(line, []).append((name, occurrence))
    return places


def meaning(source: str) -> str:
    """Return the syntax tree of a source without its annotations, which are never evaluated."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
        elif isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef):
            node.returns = None
    return ast.dump(tree)


def draw(data: CoverageData, paths: Sequence[Path], count: int, seed: int) -> Iterator[Mutant]:
    """Yield mutants of one line each, drawn uniformly from the covered lines of some files and folders."""
    from cosmic_ray import plugins
    from cosmic_ray.mutating import mutate_code

    rng = random.Random(seed)
    files = sorted({file for path in paths for file in ([path] if path.is_file() else path.rglob("*.py"))})
    lines = [(file, line) for file in files for line in covering_tests(data, file)]
    rng.shuffle(lines)
    for file, line in lines:
        source = file.read_text(encoding="utf-8")
        if count == 0 or not (operators := mutations(source).get(line)):
            continue
        kind = rng.choice(sorted({name.partition("_")[0] for name, _ in operators}))
        name, occurrence = rng.choice([each for each in operators if each[0].partition("_")[0] == kind])
        changed = mutate_code(source, plugins.get_operator(name)(), occurrence)
        lines_before = source.split("\n")
        pairs = zip(lines_before, (changed or "").split("\n"), strict=False)
        different = [(old.strip(), new.strip()) for old, new in pairs if old != new]
        try:
            if len(different) == 1 and meaning(changed) != meaning(source):
                old, new = different[0]
                if [each.strip() for each in lines_before].count(old) > 1:
                    continue  # the line identifies the mutant
                yield {"file": str(file), "operator": name, "old": old, "new": new, "outcomes": {}}
                count -= 1
        except SyntaxError:
            continue


def outcome(mutant: Mutant, data: CoverageData) -> str:
    """Make a change, run the tests of its line, and undo it; return "killed", "survived" or "gone"."""
    file = Path(mutant["file"])
    source = file.read_text(encoding="utf-8") if file.exists() else ""
    lines = source.split("\n")
    places = [number for number, line in enumerate(lines) if line.strip() == mutant["old"]]
    tests = covering_tests(data, file).get(places[0] + 1) if places else None
    if not tests:
        return "gone"
    lines[places[0]] = lines[places[0]].replace(mutant["old"], mutant["new"])
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests[:MOST_TESTS]]
    try:
        file.write_text("\n".join(lines), encoding="utf-8")
        status = subprocess.run(command, check=False, capture_output=True, timeout=SECONDS).returncode
    except subprocess.TimeoutExpired:
        return "time limit"
    finally:
        file.write_text(source, encoding="utf-8")
    return "killed" if status in KILLED else "survived"


def main(
    action: Literal["draw", "run"],
    results: Path,
    paths: Sequence[Path] = (),
    *,
    coverage: str = ".coverage",
    count: int = 50,
    seed: int = 0,
) -> None:
    """Draw mutants of files and folders, or run those of the results."""
    data = CoverageData(coverage)
    data.read()
    if action == "draw":
        write(results, {"seed": seed}, mutants=list(draw(data, paths, count, seed)))
        return
    document = json.loads(results.read_text(encoding="utf-8"))
    command = ["git", "rev-parse", "--short", "HEAD"]
    revision = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout.strip()
    mutants = document.pop("mutants")
    for mutant in mutants:
        mutant["outcomes"][revision] = outcome(mutant, data)
        write(results, document, mutants=mutants)
    print(Counter(mutant["outcomes"][revision] for mutant in mutants))
