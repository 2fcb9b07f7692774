"""``mmcore doctor``: what was found on this machine, and what to do about what was not."""

from __future__ import annotations

from typing import Any

import click

from mmcore.cli.output import fields, json_option, loaded_registry, render, write_json


@click.command()
@json_option
def doctor(as_json: bool) -> int:
    """Say what was found here, and what to do about the rest."""
    from mmcore.cli.examination import examine

    findings = examine(loaded_registry())
    if as_json:
        write_json(findings)
    else:
        render(fields(_facts(findings)), "", _conclusion(findings))
    return 0 if findings["can_run"] else 1


def _facts(findings: dict[str, Any]) -> list[tuple[str, str]]:
    packages = (f"{name} {version or 'is not installed'}" for name, version in findings["dependencies"].items())
    plugins = (f"{name}: {count} kernels" for name, count in findings["distributions"].items())
    broken = (f"{each['plugin']} of {each['distribution']}: {each['reason']}" for each in findings["broken"])
    return [
        ("Python", f"{findings['python']} at {findings['executable']}"),
        ("mmcore", findings["mmcore"] or "is not installed"),
        ("packages", "\n".join(packages)),
        ("NVRTC", findings["nvrtc"]["version"] or findings["nvrtc"]["problem"]),
        ("devices", "\n".join(map(_device, findings["devices"])) or "no plugin provides any"),
        ("auto", findings["auto"]["device"] or findings["auto"]["problem"]),
        ("cache", _cache(findings["cache"])),
        ("plugins", "\n".join(plugins) or "none brings a kernel"),
        ("set aside", "\n".join(broken)),
        ("contested", "\n".join(findings["contested"])),
    ]


def _device(found: dict[str, Any]) -> str:
    lines = [f"{name}: {text}" for name, text in found["findings"].items()]
    return "\n".join([*lines, *([f"{found['name']}: {found['problem']}"] if found["problem"] else [])])


def _cache(cache: dict[str, Any]) -> str:
    if cache["problem"]:
        return f"{cache['directory'] or 'none'}: {cache['problem']}; every kernel is compiled anew"
    return f"{cache['directory']}: writable, {cache['megabytes']:.1f} MB"


def _conclusion(findings: dict[str, Any]) -> str:
    if findings["can_run"]:
        return "Kernels can be run here."
    missing = [
        *(["NVRTC"] if findings["nvrtc"]["version"] is None else []),
        *(["a device"] if not any(each["count"] for each in findings["devices"]) else []),
    ]
    return f"No kernel can be run here: {' and '.join(missing)} is missing."
