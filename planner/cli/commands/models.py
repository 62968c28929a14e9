"""`planner models`: the models of this machine's catalogue, what they count to, and configs of one's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planner.cli.kv_report import kv_report

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planner.catalog.check import CatalogueCheck
    from planner.catalog.importers.safetensors import WeightFiles
    from planner.services.catalog import CatalogService

app = typer.Typer(help="The catalogued models.", no_args_is_help=True, add_completion=False,
                  epilog="Example: planner models show llama-3.1-70b")

_JSON = Annotated[bool, typer.Option("--json", help="Print JSON in SI units.")]
_MOST_BYTES = 64 * 2**20  # the largest published index files are below 20 MB


def _catalog() -> CatalogService:
    from planner.bootstrap import Planner
    from planner.config import settings

    return Planner(settings()).catalog


@app.command("list", epilog="Example: planner models list --family qwen3")
def list_models(family: Annotated[str | None, typer.Option(help="Only this family, such as qwen3.")] = None,
                search: Annotated[str | None, typer.Option("--q", help="Only ids that contain this.")] = None,
                as_json: _JSON = False) -> None:
    """List the built-in models with their parameter counts, cache per token and native format."""
    from planner.catalog.models import built_in_models

    catalog = built_in_models()
    rows = [_row(catalog.record(i), i) for i in catalog.ids() if search is None or search.lower() in i]
    rows = [row for row in rows if family is None or row["family"].lower() == family.lower()]
    if as_json:
        typer.echo(json.dumps({"items": rows}))
        return
    from planner.cli.tables import console, number, table
    from planner.core.quantities.units import GIGA

    made = table(f"{len(rows)} models", "id", "parameters", "active", "KV KB/token", "context", "weights")
    for row in rows:
        made.add_row(row["id"], f"{number(row['parameters'] / GIGA)} B", f"{number(row['active'] / GIGA)} B",
                     number(row["kv_bytes_per_token_bf16"] / 1000), f"{row['context_trained'] or 0:,}", row["weights"])
    console().print(made)


def _row(record: Mapping[str, Any], model_id: str) -> dict[str, Any]:
    from planner.catalog.models import built_in_models
    from planner.core.architecture.cache import first_bytes_per_token
    from planner.core.architecture.parameters import count_parameters
    from planner.core.architecture.parts import Module

    model = built_in_models().model(model_id)
    counts = count_parameters(model)
    formats = {model.scheme.of(module) for module in (Module.ATTENTION, Module.MLP, Module.EXPERTS)
               if counts.modules.get(module)}
    return {"id": model_id, "family": record["family"], "parameters": counts.total, "active": counts.active,
            "kv_bytes_per_token_bf16": first_bytes_per_token(model, 2.0), "context_trained": model.context_trained,
            "weights": " + ".join(sorted(formats)), "confidence": record["provenance"]["confidence"]}


@app.command("show", epilog="Example: planner models show llama-3.1-70b")
def show_model(model: Annotated[str, typer.Argument(help="Id, repository name or alias.")],
               as_json: _JSON = False) -> None:
    """Show one model: counts, cache, layers, and where the numbers come from."""
    from planner.catalog.model_description import describe_model

    catalog = _catalog()
    found = catalog.model(model)
    document = dict(catalog.entry("model", found.id).document)
    described = dict(describe_model(found.value))
    if as_json:
        published = document.get("parameters", {}).get("published_total")
        described["parameters"] = {**described["parameters"], "published_total": published}
        typer.echo(json.dumps({**document, **described}))
        return
    for warning in found.warnings:
        typer.echo(warning, err=True)
    _print(str(document.get("name") or found.id), described, document)


@app.command("import", epilog="Example: planner models import config.json")
def import_model(path: Annotated[Path, typer.Argument(
                     help="A config.json, a safetensors index, file or folder, or a .gguf file.")],
                 as_json: _JSON = False) -> None:
    """Read a model's own files: what they count to, or the exact bytes of its weights."""
    answer = _read(path)
    if as_json:
        typer.echo(json.dumps(answer))
        return
    if "layers" in answer:
        _print(path.name, answer, {})
    if "files" in answer:
        _print_files(path.name, answer["files"])


def _read(path: Path) -> dict[str, Any]:
    from planner.catalog.importers.gguf import read_gguf_path
    from planner.catalog.importers.huggingface import read_config
    from planner.catalog.importers.safetensors import read_index, read_path
    from planner.catalog.model_description import describe_model

    if path.suffix == ".gguf":
        found = read_gguf_path(path)
        return {**describe_model(found.model), "files": {
            "total_bytes": found.total_bytes, "tensors": None, "bytes_by_module": dict(found.bytes_by_module),
            "bytes_by_dtype": dict(found.bytes_by_type), "unexplained_elements": found.unexplained_elements}}
    if path.suffix == ".safetensors" or path.is_dir():
        return {"files": _files(read_path(path))}
    document = _json(path)
    if "weight_map" in document:
        return {"files": _files(read_index(document))}
    return dict(describe_model(read_config(document, id=path.stem)))


def _json(path: Path) -> dict[str, Any]:
    from planner.core.errors import AdapterError, InvalidQuantity, reason

    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InvalidQuantity(f"{path.name} is larger than any configuration or index.")
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise AdapterError(f"{path} cannot be read: {reason(error)}.") from error
    except (ValueError, RecursionError) as error:
        raise AdapterError(f"{path.name} is not JSON: {error}.") from error
    if not isinstance(document, dict):
        raise InvalidQuantity(f"{path.name} is not a JSON object.")
    return document


def _files(found: WeightFiles) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(found)


@app.command("check", epilog="Example: planner models check")
def check(as_json: _JSON = False) -> None:
    """Recount the whole catalogue and print every difference from the published totals with its reason."""
    from planner.catalog.check import check_models
    from planner.catalog.models import built_in_models

    found = check_models(built_in_models())
    if as_json:
        from dataclasses import asdict

        typer.echo(json.dumps(asdict(found)))
    else:
        _print_check(found)
    if found.problems:
        raise typer.Exit(code=1)


def _print_check(found: CatalogueCheck) -> None:
    from planner.cli.tables import console, table, whole

    made = table(f"{len(found.mismatches)} published totals that are not the plain count", "id", "counted", "published",
                 "difference", "unexplained", "why")
    for row in found.mismatches:
        made.add_row(row.id, whole(row.counted), whole(row.published), whole(row.difference), whole(row.unexplained),
                     row.explanation or "unexplained")
    console().print(made)
    typer.echo(f"{found.models} models in {found.seconds:.2f} s: {found.exact} equal the published total to the unit, "
               f"{found.explained} differ with a reason, {found.unpublished} have no published total.")
    for problem in found.problems:
        typer.echo(problem, err=True)


def _print(title: str, described: Mapping[str, Any], document: Mapping[str, Any]) -> None:
    from planner.cli.tables import console, table, whole

    made = table(title, "", "", left=2)
    parameters = described["parameters"]
    for name in ("total", "active", "active_without_embedding", "active_without_embedding_and_head"):
        if name in parameters:
            made.add_row(name.replace("_", " "), whole(parameters[name]))
    for name, number in parameters.get("components", {}).items():
        made.add_row(f"  {name}", whole(number))
    for name, number in described["kv_bytes_per_token"].items():
        made.add_row(f"KV bytes/token {name}", whole(number))
    if described.get("state_bytes_per_sequence"):
        made.add_row("state bytes/sequence", whole(described["state_bytes_per_sequence"]))
    for group in described.get("layers", ()):
        parts = " · ".join(part for part in (group["attention"], group["feedforward"]) if part)
        made.add_row(f"{group['count']} layers", parts)
    about = document.get("provenance") or {}
    for label, key in (("confidence", "confidence"), ("sources", "sources"), ("conflicts", "conflicts")):
        if about.get(key):
            value = about[key]
            made.add_row(label, value if isinstance(value, str) else "; ".join(value))
    console().print(made)


def _print_files(title: str, files: Mapping[str, Any]) -> None:
    from planner.cli.tables import console, table
    from planner.core.quantities.format import binary_bytes

    made = table(f"{title}: weights as stored", "", "", left=1)
    made.add_row("total", binary_bytes(files["total_bytes"]))
    for group in ("bytes_by_module", "bytes_by_dtype"):
        for name, number in sorted(files[group].items(), key=lambda item: -item[1]):
            made.add_row(f"  {name}", binary_bytes(number))
    console().print(made)


app.command("kv-report", epilog="Example: planner models kv-report logs.csv")(kv_report)
