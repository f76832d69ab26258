"""The API of a board is as its description says."""

import json
import re
from typing import Any

from starlette.testclient import TestClient

from jaxeval.serve import boards

API = json.loads(boards._API.read_text())


def _fits(value: Any, schema: dict[str, Any]) -> bool:
    """Whether a value is as a schema of the API says, in the words that it uses."""
    if "$ref" in schema:
        schema = API["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    kinds = {"string": str, "integer": int, "number": int | float, "object": dict, "array": list}
    kinds["null"] = type(None)
    named = schema.get("type", [])
    named = [named] if isinstance(named, str) else named
    if named and not any(isinstance(value, kinds[name]) for name in named):
        return False
    if value not in schema.get("enum", [value]):
        return False
    if isinstance(value, list):
        return all(_fits(item, schema.get("items", {})) for item in value)
    if isinstance(value, dict):
        known = schema.get("properties", {})
        whole = {*schema.get("required", ())} <= {*value}
        return whole and all(_fits(value[name], known[name]) for name in known if name in value)
    return True


def test_the_api_is_as_described(ranked: tuple[TestClient, Any]) -> None:
    """Dies if a route that changes something or gives JSON is not described, or an answer has
    another status, type or form than the description says."""
    site, made = ranked
    assert site.get("/openapi.json").json() == API
    routes = {
        (re.sub(r"\.\{form\}", ".json", route.path), method.lower())
        for route in site.app.routes  # type: ignore[attr-defined]
        for method in route.methods - {"HEAD"}
    }
    told = {(path, method) for path, of in API["paths"].items() for method in of}
    assert told <= routes
    assert {(p, m) for p, m in routes if m != "get" or p.endswith(".json")} - told == {
        ("/openapi.json", "get")
    }
    table = "model,score\na,1\na,2\nb,3\nb,5\n"
    first = site.post("/tables?name=t", content=table).json()
    asked: list[tuple[str, str, str, dict[str, Any]]] = [
        ("/vectors", "post", "/vectors?name=x1", {"content": "x1"}),
        ("/vectors", "post", "/vectors?name=x1", {"content": "x2"}),
        ("/vectors", "post", "/vectors?name=", {"content": "x2"}),
        ("/vectors", "post", "/vectors?name=x3", {"content": "x" * 1001}),
        ("/vectors.json", "get", "/vectors.json?mode=tuned", {}),
        ("/vectors.json", "get", "/vectors.json?mode=x", {}),
        ("/queue.json", "get", "/queue.json", {}),
        ("/vectors/{id}.json", "get", f"{made['poor']['page']}.json", {}),
        ("/vectors/{id}.json", "get", "/vectors/x.json", {}),
        ("/vectors/compare.json", "get", "/vectors/compare.json?v=x", {}),
        ("/vectors/compare.json", "get", f"/vectors/compare.json?v={made['poor']['id']}", {}),
        (
            *("/vectors/compare.json", "get"),
            f"/vectors/compare.json?v={made['poor']['id']}&v={made['good']['id']}",
            {},
        ),
        ("/vectors/{id}", "delete", made["poor"]["page"], {"headers": {"x-key": "x"}}),
        ("/vectors/{id}", "delete", "/vectors/x", {"headers": {"x-key": "x"}}),
        ("/tables", "post", "/tables?name=t&score=score&metric=f1", {"content": table}),
        ("/tables", "post", "/tables?name=t", {"content": table}),
        ("/tables/{id}.json", "get", f"{first['page']}.json", {}),
        ("/tables/{id}", "delete", first["page"], {"headers": {"x-key": "x"}}),
        ("/tables/{id}", "delete", first["page"], {"headers": {"x-key": first["key"]}}),
        ("/tables/{id}", "delete", first["page"], {"headers": {"x-key": first["key"]}}),
        ("/tables/{id}.json", "get", f"{first['page']}.json", {}),
    ]
    met = set()
    for path, method, address, sent in asked:
        answer = site.request(method, address, **sent)
        described = API["paths"][path][method]["responses"]
        assert str(answer.status_code) in described, (address, answer.text)
        content = described[str(answer.status_code)].get("content", {"": {}})
        ((kind, of),) = content.items()
        assert answer.headers.get("content-type", "").startswith(kind)
        assert kind != "application/json" or _fits(answer.json(), of["schema"]), answer.text
        met.add((path, method, answer.status_code))
    assert {of[:2] for of in met} == told and len(met) > 16
