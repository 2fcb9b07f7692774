"""The page of a report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from mmcore.kernel.sizes import size_text
from mmcore.registry import registry
from mmcore.result_view import bound, facts, result_view, verdict
from mmcore.view import escaped
from mmcore_emulator.adapter.explanation import Explanation
from mmcore_emulator.adapter.launch_facts import launch_command, source_line
from mmcore_emulator.adapter.profile_command import COUNTER_COLUMNS, counter_rows, ratio_rows
from mmcore_emulator.explain.picture import svg_of
from mmcore_emulator.profiler.counters import Line
from mmcore_performance.reasons.reason import Reason
from mmcore_performance.why import next_part, placeless, sentence, source_lines
from mmcore_performance.why_command import facts as facts_of_time
from mmcore_performance.why_command import summary
from mmcore_tools.pages.html import document, folded, picture, table
from mmcore_tools.pages.html import facts as facts_list
from mmcore_tools.report.gathering import Findings
from mmcore_tools.report.roofline import Rate, roofline
from mmcore_tools.report.source import marked_source

_MOST_REASONS = 3
_MOST_PICTURES = 4  # lines that are drawn


def page(several: Sequence[Findings]) -> str:
    """Return the page about some kernels as HTML."""
    title = " and ".join(dict.fromkeys(each.kernel.name for each in several))
    body = [f"<h1>{escaped(title)}</h1>"] if len(several) > 1 else []
    for each in several:
        heading = "h2" if len(several) > 1 else "h1"
        body.append(f"<{heading}>{escaped(f'{each.kernel.name}: {each.kernel.title}')}</{heading}>")
        body += filter(None, _sections(each))
    return document(f"{title}: {', '.join(verdict(each.result, each.kernel) for each in several)}", body)


def _sections(found: Findings) -> Iterator[str]:
    yield from _verdict(found)
    yield from _time(found)
    yield from _source(found)
    yield from _access(found)
    yield from _counts(found.explanation)
    for title, reason in found.missing.items():
        yield f'<h3>{escaped(title)}</h3>\n<p class="note">Not in this report: {escaped(reason)}</p>'


def _verdict(found: Findings) -> Iterator[str]:
    """Yield the verdict, the faults, the command that repeats it, and the facts of the launch."""
    result = found.result
    colour = "good" if result.verified else "warn" if result.timed_out else "bad"
    cell = result.cell
    wrong = [{name: each[name] for name in "mnk"} for each in result.sizes if not (result.verified or each["right"])]
    repeated = replace(cell, **wrong[0], lda=0, ldb=0, ldc=0) if wrong else cell
    right = (
        f"; right at {size_text(vars(cell))}" if wrong and result.verification and result.verification.verified else ""
    )
    where = f"m×n×k = {size_text(vars(repeated))} on {result.device}{right}"
    yield f'<p class="verdict {colour}">{escaped(verdict(result, found.kernel))}</p>\n<p>{escaped(where)}</p>'
    elsewhere = result_view(result, found.hints, found.kernel).by_line.get(0, ())
    if elsewhere:
        yield "<ul>" + "".join(f"<li>{escaped(text)}</li>" for text in elsewhere) + "</ul>"
    yield f"<p>To repeat it:</p>\n<pre>{escaped(launch_command('run', repeated))}</pre>"
    yield facts_list(facts(result, found.kernel))
    if file := registry().files.get(found.kernel.name):
        yield folded("What was inferred from the file", f"<pre>{escaped(file.inferred)}</pre>", is_open=False)


def _time(found: Findings) -> Iterator[str]:
    """Yield the reasons for the time, the predicted time, and the drawing of the speed of light."""
    why, result = found.why, found.result
    if why is None:
        return
    yield f"<h2>Why it takes its time on an NVIDIA {escaped(why.card)}</h2>"
    yield facts_list([*facts_of_time(why), ("speed of light", _predicted_score(found))])
    if not (why.right and result.verified):
        yield '<p class="note">It is wrong, which comes first.</p>'
    items = []
    for reason in _shown(found):
        quote = "\n".join(line.removeprefix("    ") for line in source_lines(reason, found.kernel))
        items.append(
            f"<li>{escaped(sentence(reason, found.kernel, next_part(reason)))}"
            f"{f'<pre>{escaped(quote)}</pre>' if quote else '<br>'}Try: {escaped(reason.advice)}</li>"
        )
    yield f"<ol>{''.join(items)}</ol>" if items else f"<p>{escaped(summary(why))}</p>"
    yield _roofline(found)


def _shown(found: Findings) -> Sequence[Reason]:
    """Return the reasons that are shown."""
    return found.why.reasons[:_MOST_REASONS] if found.why else ()


def _predicted_score(found: Findings) -> str:
    """Return the speed of light that is predicted; empty where it was measured, or is unknown."""
    time, peaks = found.why.predicted if found.why else None, found.card.peaks
    if found.why is None or time is None or peaks is None or found.result.speed_of_light is not None:
        return ""
    problem = found.kernel.problem(*found.why.problem.values())
    least = peaks.bound(problem, found.kernel.unit, cold=False)
    if least is None:
        return ""
    ends = (_percent(100 * least.seconds / max(seconds, least.seconds)) for seconds in (time.high, time.low))
    return f"{' to '.join(dict.fromkeys(ends))} % (predicted; {bound(*least)})"


def _percent(part: float) -> str:
    """Return a part in percent to two digits, or as a whole number."""
    return f"{part:.0f}" if part >= 10 else f"{part:.2g}"


def _roofline(found: Findings) -> str:
    """Return the measured rates, or the predicted one, below the roofs of the card."""
    result, why, peaks = found.result, found.why, found.card.peaks
    if why is None or peaks is None:
        return ""
    problem, rates = found.kernel.problem(*why.problem.values()), []
    if result.kernel_seconds is not None:
        problem = result.cell.problem(found.kernel)
        measured = problem.flops / result.kernel_seconds
        rates = [Rate("measured", measured, measured)]
        timed = [(each.kernel, problem.flops / each.time.seconds) for each in result.compared if each.time]
        rates += [Rate(name, rate, rate) for name, rate in timed[:1]]
    elif why.predicted is not None:
        least = peaks.least_seconds(problem, found.kernel.unit, cold=False)
        low, high = (problem.flops / max(end, least) for end in (why.predicted.high, why.predicted.low))
        rates = [Rate("predicted", low, high)]
    drawn = roofline(problem, found.kernel.unit, peaks, rates)
    return f'<figure class="scroll">{drawn}</figure>' if drawn else ""


def _source(found: Findings) -> Iterator[str]:
    """Yield the source with the messages about its lines, and the lines' costs."""
    by_line = result_view(found.result, found.hints, found.kernel).by_line
    messages = {number: [*texts] for number, texts in by_line.items() if number}
    for reason in _shown(found):
        if reason.line.source == found.kernel.source.name:
            text = f"{placeless(reason)}; try: {reason.advice}"
            messages.setdefault(reason.line.number, []).append(text)
    profile = found.explanation.profile if found.explanation else None
    yield "<h2>The source</h2>"
    if profile is not None:
        size = escaped(size_text(profile.launched.problem))
        yield f"<p>Beside each line: what warps do there in a product of {size}.</p>"
    yield marked_source(found.kernel, messages, profile)


def _access(found: Findings) -> Iterator[str]:
    """Yield pictures of the lines of reasons, then of those with the most bank conflicts, sectors and wavefronts."""
    explanation = found.explanation
    if explanation is None or not explanation.sights:
        return
    lines, reasons = explanation.profile.lines, [reason.line for reason in _shown(found)]

    def rank(line: Line) -> tuple[int, ...]:
        counts = lines[line]
        return (
            reasons.index(line) if line in reasons else len(reasons),
            *(-counts.shared_bank_conflicts, -counts.global_sectors, -counts.shared_wavefronts),
        )

    yield "<h2>How warps access memory</h2>"
    for line in sorted(explanation.sights, key=rank)[:_MOST_PICTURES]:
        title = f"{line.source}:{line.number}  {source_line(found.kernel, *line) or ''}"
        drawn = "".join(picture(svg_of([each]), each.title) for each in explanation.pictures(line))
        marked = line in reasons or lines[line].shared_bank_conflicts > 0
        yield folded(title, f'<div class="scroll">{drawn}</div>', is_open=marked)


def _counts(explanation: Explanation | None) -> Iterator[str]:
    """Yield the counters and their ratios."""
    if explanation is None:
        return
    profile = explanation.profile
    yield "<h2>Counters</h2>"
    yield table(
        f"Counted on the emulator at {size_text(profile.launched.problem)}", COUNTER_COLUMNS, [*counter_rows(profile)]
    )
    yield facts_list(ratio_rows(profile))
