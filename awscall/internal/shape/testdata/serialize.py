"""Prints, a line each, how botocore serialises operations with made-up parameters: serialize.py FOLDER... (none: all)."""
import base64, datetime, json, random, sys
import botocore.loaders, botocore.model, botocore.serialize, botocore.handlers

loader = botocore.loaders.Loader()


def make(shape, rng, depth, seen, folder):
    """A value twice: as JSON has it, and as botocore wants it."""
    kind = shape.type_name
    if kind == "structure":
        if getattr(shape, "is_document_type", False):
            value = {"word": rng.choice(["a", "b\"c"]), "number": 7, "list": [True, None, 1.5]}
            return value, value
        if depth > 5 or shape.name in seen and depth > 2:
            return None, None
        names = list(shape.members)
        if getattr(shape, "is_tagged_union", False):
            names = [rng.choice(names)] if names else []
        elif depth > 2 and len(names) > 3:
            chosen = rng.sample(names, 3)
            names = [n for n in names if n in chosen]
        left, right = {}, {}
        for name in names:
            member = shape.members[name]
            if member.serialization.get("location") == "statusCode":
                continue
            a, b = make(member, rng, depth + 1, seen | {shape.name}, folder)
            if member.serialization.get("hostLabel"):
                a = b = "label-1"
            if name == "MaxItems" and member.type_name == "string" and folder in ("cloudfront", "route53"):
                a, b = 10, "10"  # what the bundle has as a number, as other SDKs do
            if b is not None:
                left[name], right[name] = a, b
        if getattr(shape, "is_tagged_union", False) and not left:
            return None, None
        return left, right
    if kind == "list":
        items = [make(shape.member, rng, depth + 1, seen, folder) for _ in range(2)]
        if any(b is None for _, b in items):
            return None, None
        return [a for a, _ in items], [b for _, b in items]
    if kind == "map":
        left, right = {}, {}
        for key in rng.sample(["k1", "k 2", "k\u00e93"], 2):
            a, b = make(shape.value, rng, depth + 1, seen, folder)
            if b is None:
                return None, None
            left[key], right[key] = a, b
        return dict(sorted(left.items())), dict(sorted(right.items()))
    if kind == "string" or kind == "character":
        if shape.serialization.get("jsonvalue"):
            value = {"a": [1, "x"]}
            if shape.serialization.get("location") == "header":
                return value, value
            return value, json.dumps(value, separators=(",", ":"))  # botocore leaves that to its callers
        text = rng.choice(["abc", "a b", "x<&>\"y", "\u00e9\u4e2d", "a/b+c"])
        if shape.serialization.get("location") in ("header", "headers"):
            text = rng.choice(["abc", "a b", "x/y"])
        return text, text
    if kind == "blob":
        text = rng.choice(["blob", "\u00e9"])
        return text, text.encode()
    if kind == "boolean":
        value = rng.random() < 0.5
        return value, value
    if kind in ("integer", "long", "short", "byte"):
        value = rng.choice([0, 1, 42, 127])
        return str(value) if rng.random() < 0.5 else value, value
    if kind in ("float", "double"):
        value = rng.choice([0.5, 2.25, 1000.125])
        return value, value
    if kind == "timestamp":
        at = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)
        return "2026-01-02T03:04:05Z", at
    raise Exception(kind)


def plain(value):
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(bytes(value)).decode()
    return str(value)


for folder in sys.argv[1:] or loader.list_available_services("service-2"):
    description = loader.load_service_model(folder, "service-2")
    model = botocore.model.ServiceModel(description, folder)
    protocol = model.metadata["protocol"]
    offered = model.metadata.get("protocols", [protocol])
    for known in ("json", "rest-json", "rest-xml", "query", "ec2"):
        if known in offered:
            protocol = known
            break
    serializer = botocore.serialize.create_serializer(protocol, include_validation=False)
    for name in model.operation_names:
        operation = model.operation_model(name)
        if operation.has_event_stream_input or operation.has_event_stream_output:
            continue
        left, right = {}, {}
        if operation.input_shape is not None:
            left, right = make(operation.input_shape, random.Random(folder + name), 0, frozenset(), folder)
        if folder == "s3":
            botocore.handlers.remove_bucket_from_url_paths_from_model(right, operation, {})
        request = serializer.serialize_to_request(right, operation)
        body = request["body"]
        form = None
        if isinstance(body, dict):
            form = {k: str(v) for k, v in body.items()}
            body = b""
        if hasattr(body, "read"):
            body = body.read()
        if isinstance(body, str):
            body = body.encode()
        query = request["query_string"]
        if isinstance(query, dict):
            query = {k: [str(x) for x in (v if isinstance(v, list) else [v])] for k, v in query.items()}
        print(json.dumps({
            "service": folder, "operation": name, "protocol": protocol, "params": left, "method": request["method"],
            "path": request["url_path"], "host": request.get("host_prefix"), "query": query, "form": form, "body": base64.b64encode(body or b"").decode(),
            "headers": {k: plain(v) if not isinstance(v, list) else ",".join(v) for k, v in request["headers"].items()},
        }))
