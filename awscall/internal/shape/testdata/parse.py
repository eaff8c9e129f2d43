"""Prints, a line each, made-up responses of operations and what botocore reads in them: parse.py FOLDER... (none: all)."""
import base64, datetime, json, random, sys
from xml.sax.saxutils import escape, quoteattr
import botocore.awsrequest, botocore.loaders, botocore.model, botocore.parsers

loader = botocore.loaders.Loader()
AT = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)


def stamp(shape, default):
    word = shape.serialization.get("timestampFormat", default)
    return {"iso8601": "2026-01-02T03:04:05Z", "rfc822": "Fri, 02 Jan 2026 03:04:05 GMT", "unixTimestamp": 1767323045}[word]


def names(shape, rng, depth):
    found = [n for n in shape.members if not shape.members[n].serialization.get("jsonvalue")]
    if getattr(shape, "is_tagged_union", False):
        return found[:1]
    if depth > 2 and len(found) > 3:
        chosen = rng.sample(found, 3)
        found = [n for n in found if n in chosen]
    return found


def scalar(shape, rng, times):
    kind = shape.type_name
    if kind in ("string", "character"):
        return rng.choice(["abc", "a <b>&\"c\"", "\u00e9\u4e2d", "x y"])
    if kind == "blob":
        return base64.b64encode(rng.choice([b"blob", b"\x00\xff"])).decode()
    if kind == "boolean":
        return rng.random() < 0.5
    if kind in ("integer", "long", "short", "byte"):
        return rng.choice([0, 1, 42])
    if kind in ("float", "double"):
        return rng.choice([0.5, 2.25])
    return stamp(shape, times)


def as_json(shape, rng, depth, seen):
    kind = shape.type_name
    if kind == "structure":
        if getattr(shape, "is_document_type", False):
            return {"a": [1, "x", None]}
        if depth > 5 or shape.name in seen:
            return None
        out = {}
        for name in names(shape, rng, depth):
            value = as_json(shape.members[name], rng, depth + 1, seen | {shape.name})
            if value is not None:
                out[shape.members[name].serialization.get("name", name)] = value
        return None if not out and getattr(shape, "is_tagged_union", False) else out
    if kind == "list":
        items = [as_json(shape.member, rng, depth + 1, seen) for _ in range(2)]
        return None if None in items else items
    if kind == "map":
        items = {k: as_json(shape.value, rng, depth + 1, seen) for k in ("k1", "k 2")}
        return None if None in items.values() else items
    return scalar(shape, rng, "unixTimestamp")


def text(value):
    return escape({True: "true", False: "false"}[value] if isinstance(value, bool) else str(value))


def as_xml(shape, name, rng, depth, seen, attrs=""):
    """The element of a value, or elements where a list or map has none around it; None for what is left out."""
    kind = shape.type_name
    if kind == "structure":
        if depth > 5 or shape.name in seen:
            return None
        inner, attrs = "", attrs
        for member in names(shape, rng, depth):
            m = shape.members[member]
            wire = m.serialization.get("name", member)
            if m.serialization.get("xmlAttribute"):
                attrs += ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" %s=%s' % (wire, quoteattr("CanonicalUser"))
                continue
            if member == "MaxItems":
                inner += "<%s>10</%s>" % (wire, wire)  # the bundle has it as a number, as other SDKs do
                continue
            inner += as_xml(m, wire, rng, depth + 1, seen | {shape.name}) or ""
        if not inner and getattr(shape, "is_tagged_union", False):
            return None
        return "<%s%s>%s</%s>" % (name, attrs, inner, name)
    if kind == "list":
        flat = shape.serialization.get("flattened")
        inside = shape.member.serialization.get("name", name if flat else "member")
        items = [as_xml(shape.member, inside, rng, depth + 1, seen) for _ in range(2)]
        if None in items:
            return None
        return "".join(items) if flat else "<%s>%s</%s>" % (name, "".join(items), name)
    if kind == "map":
        flat = shape.serialization.get("flattened")
        key, value = shape.key.serialization.get("name", "key"), shape.value.serialization.get("name", "value")
        out = ""
        for k in ("k1", "k 2"):
            v = as_xml(shape.value, value, rng, depth + 1, seen)
            if v is None:
                return None
            out += "<%s><%s>%s</%s>%s</%s>" % (name if flat else "entry", key, k, key, v, name if flat else "entry")
        return out if flat else "<%s>%s</%s>" % (name, out, name)
    return "<%s>%s</%s>" % (name, text(scalar(shape, rng, "iso8601")), name)


def respond(protocol, name, shape, rng):
    """Headers and a body."""
    headers, body = {}, b""
    if protocol == "json":
        return {}, json.dumps(as_json(shape, rng, 0, frozenset()))
    if protocol == "query":
        return {}, "<%sResponse xmlns=\"urn:x\">%s<ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></%sResponse>" % (
            name, as_xml(shape, name + "Result", rng, 0, frozenset()), name)
    if protocol == "ec2":
        return {}, as_xml(shape, name + "Response", rng, 0, frozenset(), ' xmlns="urn:x"')
    payload = shape.serialization.get("payload")
    rest = []
    for member in names(shape, rng, 0):
        m = shape.members[member]
        where, wire = m.serialization.get("location"), m.serialization.get("name", member)
        if where == "header":
            if m.type_name == "list":
                headers[wire] = "a, b"
            elif m.type_name == "timestamp":
                headers[wire] = str(stamp(m, "rfc822"))
            else:
                value = scalar(m, rng, "rfc822")
                headers[wire] = {True: "true", False: "false"}[value] if isinstance(value, bool) else "abc" if m.type_name == "string" else str(value)
        elif where == "headers":
            headers[wire + "one"] = "1"
        elif where is None and member != payload:
            rest.append(member)
    if payload:
        m = shape.members[payload]
        if m.type_name in ("string", "blob"):
            return headers, "pay load"
        if protocol == "rest-json":
            return headers, json.dumps(as_json(m, rng, 1, frozenset()))
        return headers, as_xml(m, m.serialization.get("name", payload), rng, 1, frozenset(), ' xmlns="urn:x"')
    if protocol == "rest-json":
        out = {}
        for member in rest:
            m = shape.members[member]
            value = as_json(m, rng, 1, frozenset({shape.name}))
            if value is not None:
                out[m.serialization.get("name", member)] = value
        return headers, json.dumps(out) if out or rest else ""
    inner = "".join("<MaxItems>10</MaxItems>" if n == "MaxItems" else
                    as_xml(shape.members[n], shape.members[n].serialization.get("name", n), rng, 1, frozenset({shape.name})) or "" for n in rest)
    return headers, "<Root xmlns=\"urn:x\">%s</Root>" % inner if rest else ""


def plain(value):
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, datetime.datetime):
        return str(int(value.timestamp()))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, (int, float)):
        return "%g" % value
    return value


for folder in sys.argv[1:] or loader.list_available_services("service-2"):
    model = botocore.model.ServiceModel(loader.load_service_model(folder, "service-2"), folder)
    protocol = model.metadata["protocol"]
    for known in ("json", "rest-json", "rest-xml", "query", "ec2"):
        if known in model.metadata.get("protocols", [protocol]):
            protocol = known
            break
    parser = botocore.parsers.create_parser(protocol)
    for name in model.operation_names:
        operation = model.operation_model(name)
        shape = operation.output_shape
        if shape is None or operation.has_event_stream_input or operation.has_event_stream_output or operation.has_streaming_output:
            continue
        if folder == "s3" and name == "GetBucketLocation":
            continue  # botocore reads it by a handler
        headers, body = respond(protocol, name, shape, random.Random(folder + name))
        raw = botocore.awsrequest.HeadersDict(headers)
        parsed = parser.parse({"status_code": 200, "headers": raw, "body": body.encode() if isinstance(body, str) else body}, shape)
        parsed.pop("ResponseMetadata", None)
        print(json.dumps({"service": folder, "operation": name, "headers": headers, "body": body, "parsed": plain(parsed)}, default=str))
