"""Writes packages/core/test/fixtures/servers/<server>-<version>.json: what inference servers take and answer, by their own classes.

One server a run, in an environment from which it can be imported (no GPU is needed; `pip install --no-deps` and the protocol's small
dependencies will do, or a folder of the wheel's Python files in PYTHONPATH; torch is the CPU build):

    python scripts/make-server-fixtures.py vllm            # 0.8.5, 0.10.2, 0.12.0, 0.33.0
    python scripts/make-server-fixtures.py sglang FOLDER   # 0.4.10.post2, 0.5.23: the unpacked wheel, read without importing most of it
    python scripts/make-server-fixtures.py trl FOLDER      # 0.17.0, 1.9.2; from 1.13 on `trl vllm-serve` starts vLLM's own server
    python scripts/make-server-fixtures.py transformers    # 5.23.0

Each run also puts the lines of docs/training.md that start this server through the server's own argument parser.

`requests` are JSON Schemas of the request classes, `unknownFields` says what the server does with fields it does not know; `answers` are dumped
by the response classes. Bodies that the tests recorded (requests.json beside the fixtures) are put through the request classes too.
"""

import ast
import asyncio
import importlib
import inspect
import json
import os
import pathlib
import shlex
import sys
import types
import typing
from types import SimpleNamespace

FIXTURES = pathlib.Path(__file__).parent.parent / "packages" / "core" / "test" / "fixtures" / "servers"
MODEL = "tiny"
PROMPT = [1, 2, 3]
# Two choices: ids with the logprobs of what was sampled.
SAMPLED = [([97, 98], [-0.1, -0.25]), ([99], [-0.5])]
NAMES = {"a": 97, "b": 98, "c": 99}


def small(schema):
    """A schema without the words and defaults in it."""
    if isinstance(schema, dict):
        return {
            key: {name: small(part) for name, part in value.items()} if key in ("properties", "$defs") else small(value)
            for key, value in schema.items()
            if key not in ("description", "title", "default", "examples", "deprecated")
        }
    return [small(one) for one in schema] if isinstance(schema, list) else schema


def write(server, version, fixture):
    """One line for each part, so that a diff can be read."""
    def lines(value, depth):
        if depth == 0 or not isinstance(value, dict) or not value:
            return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        inner = ",\n".join(f"{json.dumps(key)}:{lines(part, depth - 1)}" for key, part in value.items())
        return "{\n" + inner + "\n}"

    path = FIXTURES / f"{server}-{version}.json"
    path.write_text(lines({"server": server, "version": version, **fixture}, 2) + "\n")
    print(path, path.stat().st_size)


def plain(value):
    """What comes out of a server: JSON, ids and times fixed."""
    data = json.loads(value if isinstance(value, str) else json.dumps(value))
    for key, fixed in (("id", "1"), ("request_id", "1"), ("created", 1), ("permission", [])):
        if isinstance(data, dict) and key in data:
            data[key] = fixed
    if isinstance(data, dict) and isinstance(data.get("data"), list):
        data["data"] = [{**one, "created": 1, "permission": []} for one in data["data"]]
    return data


def recorded(server, version):
    """Bodies that the tests sent to this server, by route."""
    path = FIXTURES / "requests.json"
    bodies = json.loads(path.read_text()) if path.exists() else {}
    return bodies.get(f"{server}-{version}", {})


def start_lines(*words):
    """The arguments of the lines in docs/training.md that start a server with these words."""
    text = (pathlib.Path(__file__).parent.parent / "docs" / "training.md").read_text().replace("\\\n", " ")
    lines = [shlex.split(line) for line in text.splitlines() if line.startswith((" ".join(words), "VLLM_"))]
    commands = [[word for word in line if not word.startswith("VLLM_")] for line in lines]
    return [line[len(words):] for line in commands if tuple(line[: len(words)]) == words]


def check_start_lines(words, parse):
    for arguments in start_lines(*words):
        try:
            parse(arguments)
            print("understood:", *words, *arguments)
        except SystemExit:
            print("not by this version:", *words, *arguments)


# vLLM


def vllm_parser():
    import vllm.platforms
    from vllm.platforms.cpu import CpuPlatform

    vllm.platforms._current_platform = CpuPlatform()
    try:
        from vllm.entrypoints.common.cli_args import make_arg_parser
    except ModuleNotFoundError:
        from vllm.entrypoints.openai.cli_args import make_arg_parser
    try:
        from vllm.utils.argparse_utils import FlexibleArgumentParser
    except ModuleNotFoundError:
        from vllm.utils import FlexibleArgumentParser
    return make_arg_parser(FlexibleArgumentParser())


def vllm():
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    os.environ.setdefault("VLLM_PLUGINS", "")
    from vllm._version import __version__ as version

    def load(*modules):
        merged = {}
        for name in modules:
            try:
                merged.update(vars(importlib.import_module(name)))
            except ModuleNotFoundError as error:
                if not error.name.startswith("vllm"):
                    raise
        return SimpleNamespace(**merged)

    openai = load(
        "vllm.entrypoints.openai.protocol",
        "vllm.entrypoints.openai.completion.protocol",
        "vllm.entrypoints.openai.chat_completion.protocol",
        "vllm.entrypoints.serve.engine.protocol",
        "vllm.entrypoints.serve.lora.protocol",
        "vllm.entrypoints.openai.engine.protocol",
    )
    tokens = load("vllm.entrypoints.openai.protocol", "vllm.entrypoints.scale_out.token_in_token_out.protocol")
    from vllm.sampling_params import SamplingParams

    classes = {
        "/v1/completions": openai.CompletionRequest,
        "/v1/chat/completions": openai.ChatCompletionRequest,
        "/v1/load_lora_adapter": openai.LoadLoRAAdapterRequest,
        "/v1/unload_lora_adapter": getattr(openai, "UnloadLoRAAdapterRequest", None)
        or importlib.import_module("vllm.entrypoints.openai.protocol").UnloadLoRAAdapterRequest,
    }
    if hasattr(tokens, "GenerateRequest"):
        classes["/inference/v1/generate"] = tokens.GenerateRequest
    requests = {}
    for route, cls in classes.items():
        schema = small(cls.model_json_schema())
        if "/chat/" in route:
            # Messages are a union of OpenAI's types, which our own Message is made after.
            schema["properties"]["messages"] = {"type": "array", "items": {"type": "object", "required": ["role"]}}
        if route == "/inference/v1/generate":
            schema["properties"]["sampling_params"] = {"$ref": "#/$defs/SamplingParams"}
            names = [name for name in SamplingParams.__struct_fields__ if not name.startswith("_")]
            schema.setdefault("$defs", {})["SamplingParams"] = {
                "type": "object", "properties": {name: {} for name in names}, "additionalProperties": False}
        requests[route] = prune(schema)

    has_ids = "return_token_ids" in openai.CompletionRequest.model_fields
    usage = openai.UsageInfo(prompt_tokens=3, completion_tokens=3, total_tokens=6)
    text = {id: name for name, id in NAMES.items()}

    def completion(sampled, named, **more):
        choices = []
        for index, (ids, logprobs) in enumerate(sampled):
            # As OpenAIServingCompletion._create_completion_logprobs names them.
            names = [f"token_id:{id}" if named else text[id] for id in ids]
            choices.append(openai.CompletionResponseChoice(
                index=index, text="".join(text[id] for id in ids), finish_reason="stop" if len(ids) == 2 else "length",
                logprobs=openai.CompletionLogProbs(
                    text_offset=list(range(len(ids))), token_logprobs=logprobs, tokens=names,
                    top_logprobs=[{name: logprob} for name, logprob in zip(names, logprobs)]),
                **({"token_ids": ids, "prompt_token_ids": PROMPT} if has_ids else {}), **more))
        return plain(openai.CompletionResponse(model=MODEL, choices=choices, usage=usage).model_dump_json())

    def chat(sampled, named):
        choices = []
        for index, (ids, logprobs) in enumerate(sampled):
            content = [openai.ChatCompletionLogProbsContent(
                token=f"token_id:{id}" if named else text[id], logprob=logprob, bytes=list(text[id].encode()))
                for id, logprob in zip(ids, logprobs)]
            choices.append(openai.ChatCompletionResponseChoice(
                index=index, message=openai.ChatMessage(role="assistant", content="".join(text[id] for id in ids)),
                finish_reason="stop", logprobs=openai.ChatCompletionLogProbs(content=content),
                **({"token_ids": ids} if has_ids else {})))
        return plain(openai.ChatCompletionResponse(
            model=MODEL, choices=choices, usage=openai.UsageInfo(prompt_tokens=3, completion_tokens=2, total_tokens=5), **({"prompt_token_ids": PROMPT} if has_ids else {})).model_dump_json())

    logprob = importlib.import_module("vllm.logprobs" if version > "0.11" and not version.startswith("0.8") else "vllm.sequence").Logprob
    prompt_logprobs = [None, {2: logprob(-0.5, 1, "x"), 7: logprob(-1.5, 2, "y")}, {3: logprob(-0.25, 1, "z"), 8: logprob(-2.0, 2, "w")}]
    answers = {
        "completions": completion(SAMPLED, not has_ids),
        "chat": chat(SAMPLED[:1], not has_ids),
        "promptLogprobs": completion(SAMPLED[1:], not has_ids, prompt_logprobs=prompt_logprobs),
        "models": plain(openai.ModelList(data=[openai.ModelCard(id=MODEL, max_model_len=4096, root="/models/tiny")]).model_dump_json()),
        "version": {"version": version},
        **asyncio.run(vllm_adapters(openai)),
    }
    if hasattr(tokens, "GenerateTokensResponse"):
        choices = [tokens.GenerateTokensChoice(
            index=index, finish_reason="stop" if len(ids) == 2 else "length", token_ids=ids,
            logprobs=tokens.GenerateLogProbs(content=[
                tokens.GenerateLogProbsContent(token_id=id, logprob=value, rank=1) for id, value in zip(ids, logprobs)]))
            for index, (ids, logprobs) in enumerate(SAMPLED)]
        answers["inference"] = plain(tokens.GenerateTokensResponse(model=MODEL, choices=choices, usage=usage).model_dump_json())
    elif hasattr(tokens, "GenerateRequest"):
        # 0.12: logprobs are those of chats, tokens named by their ids.
        choices = [tokens.GenerateResponseChoice(
            index=index, finish_reason="stop" if len(ids) == 2 else "length", token_ids=ids,
            logprobs=tokens.ChatCompletionLogProbs(content=[
                tokens.ChatCompletionLogProbsContent(token=f"token_id:{id}", logprob=value) for id, value in zip(ids, logprobs)]))
            for index, (ids, logprobs) in enumerate(SAMPLED)]
        answers["inference"] = plain(tokens.GenerateResponse(choices=choices).model_dump_json())
    answers["paths"] = sorted(classes) + ["/health", "/v1/models", "/version"]

    # The server's own handler answers the body that our tests recorded, over what an engine would have sampled.
    if "/v1/completions" in recorded("vllm", version):
        request = openai.CompletionRequest(**recorded("vllm", version)["/v1/completions"][1])
        answers["completions"] = vllm_completion(request, logprob)
        scored = openai.CompletionRequest(**recorded("vllm", version)["prompt logprobs"][1])
        answers["promptLogprobs"] = vllm_completion(scored, logprob, prompt_logprobs)

    # A model's generation_config.json, as an operator may not know it: none of it may reach a request of ours.
    sneaky = {"temperature": 0.6, "top_p": 0.95, "top_k": 20, "min_p": 0.1, "repetition_penalty": 1.1}
    told = {}
    for name, (route, body) in recorded("vllm", version).items():
        request = classes[route](**body)
        if route == "/inference/v1/generate":
            params = request.sampling_params
        elif hasattr(request, "to_sampling_params"):
            names = inspect.signature(request.to_sampling_params).parameters
            given = {"max_tokens": 8, "default_max_tokens": 8, "logits_processor_pattern": None, "default_sampling_params": sneaky}
            params = request.to_sampling_params(**{name: given[name] for name in names})
        else:
            continue
        told[name] = {key: getattr(params, key) for key in ("n", "temperature", "top_p", "top_k", "min_p", "repetition_penalty", "presence_penalty", "frequency_penalty", "seed", "logprobs", "prompt_logprobs")}
    parser = vllm_parser()
    # `vllm serve MODEL` makes --model of its first word.
    check_start_lines(("vllm", "serve"), lambda words: parser.parse_args(["--model", *words]))
    write("vllm", version, {"unknownFields": "ignored", "requests": requests, "answers": answers, "told": told})


def vllm_completion(request, logprob, prompt_logprobs=None):
    """The answer that vLLM's handler of /v1/completions makes of an engine's output."""
    from unittest.mock import MagicMock

    from vllm.outputs import CompletionOutput, RequestOutput

    try:
        from vllm.entrypoints.openai.completion.serving import OpenAIServingCompletion
    except ModuleNotFoundError:
        from vllm.entrypoints.openai.serving_completion import OpenAIServingCompletion
    text = {id: name for name, id in NAMES.items()}
    outputs = [
        CompletionOutput(
            index=index, text="".join(text[id] for id in ids), token_ids=ids, cumulative_logprob=sum(logprobs),
            logprobs=None if request.logprobs is None else [
                {id: logprob(value, 1, text[id])} for id, value in zip(ids, logprobs)],
            finish_reason="stop" if len(ids) == 2 else "length")
        for index, (ids, logprobs) in enumerate(SAMPLED[: request.n] if prompt_logprobs is None else SAMPLED[1:])
    ]
    given = {
        "request_id": "1", "prompt": None, "prompt_token_ids": PROMPT, "prompt_logprobs": prompt_logprobs, "outputs": outputs, "finished": True}
    arguments = {
        "final_res_batch": [RequestOutput(**given)], "request": request, "request_id": "1", "created_time": 1, "model_name": MODEL,
        "tokenizer": MagicMock(), "request_metadata": MagicMock()}
    handler = object.__new__(OpenAIServingCompletion)
    for name in ("return_tokens_as_token_ids", "enable_prompt_tokens_details", "enable_per_request_metrics"):
        setattr(handler, name, False)
    handler.system_fingerprint = None
    return plain(handler.request_output_to_completion_response(**arguments).model_dump_json())


async def vllm_adapters(openai):
    """What the server's own handler answers to adapters being loaded and unloaded, over an engine that has them in memory."""
    from unittest.mock import AsyncMock, MagicMock

    try:
        from vllm.entrypoints.openai.models.protocol import BaseModelPath
        from vllm.entrypoints.openai.models.serving import OpenAIServingModels
    except ModuleNotFoundError:
        from vllm.entrypoints.openai.serving_models import BaseModelPath, OpenAIServingModels
    engine = MagicMock()
    engine.model_config.max_model_len = 4096
    engine.add_lora = AsyncMock()
    arguments = {"engine_client": engine, "base_model_paths": [BaseModelPath(name=MODEL, model_path="/models/tiny")]}
    if "model_config" in inspect.signature(OpenAIServingModels.__init__).parameters:
        arguments["model_config"] = engine.model_config
    models = OpenAIServingModels(**arguments)
    name = "policy-r-v1"
    load = openai.LoadLoRAAdapterRequest(lora_name=name, lora_path="/adapters/policy-r-v1")
    unload_class = getattr(openai, "UnloadLoRAAdapterRequest", None) or importlib.import_module(
        "vllm.entrypoints.openai.protocol").UnloadLoRAAdapterRequest
    unload = unload_class(lora_name=name)

    def answer(given):
        if isinstance(given, str):
            return {"status": 200, "text": given}
        body = plain(given.model_dump_json())
        return {"status": body.get("error", body)["code"], "json": body}

    answers = {"loaded": answer(await models.load_lora_adapter(load))}
    answers["loadedTwice"] = answer(await models.load_lora_adapter(load))
    answers["unloaded"] = answer(await models.unload_lora_adapter(unload))
    answers["unloadedTwice"] = answer(await models.unload_lora_adapter(unload))
    return answers


def prune(schema):
    """Without definitions that nothing refers to."""
    while True:
        used = {part for part in schema.get("$defs", {}) if f'"#/$defs/{part}"' in json.dumps({**schema, "$defs": {k: v for k, v in schema["$defs"].items() if k != part}})}
        if used == set(schema.get("$defs", {})):
            return schema
        schema["$defs"] = {name: part for name, part in schema["$defs"].items() if name in used}


# Classes in the source of servers that cannot be imported without their kernels


class Lenient(dict):
    """Names of annotations; those that are not the standard's mean anything."""

    def __missing__(self, name):
        return getattr(typing, name, typing.Any) if name not in dir(__builtins__) else getattr(__builtins__, name)


class Bare(ast.NodeTransformer):
    """`Annotated[T, …]` is T: validators are functions of the server's."""

    def visit_Subscript(self, node):
        self.generic_visit(node)
        return node.slice.elts[0] if isinstance(node.value, ast.Name) and node.value.id == "Annotated" else node


def meant(annotation):
    return eval(compile(ast.fix_missing_locations(ast.Expression(Bare().visit(annotation))), "<annotation>", "eval"), Lenient())  # noqa: S307


def class_in(source, name):
    return next(node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef) and node.name == name)


def schema_in(source, *names):
    """The JSON Schema of the annotated fields of a class (of the last of `names`, those before it are its bases)."""
    import pydantic

    fields = {}
    for name in names:
        for node in class_in(source, name).body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                fields[node.target.id] = (meant(node.annotation), ... if node.value is None else None)
    return small(pydantic.create_model(names[-1], **fields).model_json_schema())


def init_schema(source, name):
    """The same of a class whose fields are its constructor's arguments."""
    import pydantic

    arguments = next(node for node in class_in(source, name).body if isinstance(node, ast.FunctionDef) and node.name == "__init__").args
    fields = {
        one.arg: (meant(one.annotation), None)
        for one in arguments.args[1:] + arguments.kwonlyargs
    }
    return small(pydantic.create_model(name, **fields).model_json_schema())


def function_in(source, name):
    """A function or method of a source, on its own."""
    node = next(node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef) and node.name == name)
    node.decorator_list = []
    module = ast.Module(body=[node], type_ignores=[])
    space = {**vars(typing)}
    exec(compile(ast.fix_missing_locations(module), "<function>", "exec"), space)  # noqa: S102
    return space[name]


def routes_in(source):
    """Paths of a FastAPI application, by its decorators."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "post", "api_route"):
            if isinstance(node.func.value, ast.Name) and node.func.value.id == "app" and node.args and isinstance(node.args[0], ast.Constant):
                found.add(node.args[0].value)
    return sorted(found)


def sglang(folder):
    root = pathlib.Path(folder) / "sglang"
    version = next(pathlib.Path(folder).glob("sglang-*.dist-info"), None)
    version = version.name.removeprefix("sglang-").removesuffix(".dist-info") if version else pathlib.Path(folder).name.removeprefix("sglang-")
    read = lambda path: (root / path).read_text()
    io_struct = read("srt/managers/io_struct.py")
    sampling = read("srt/sampling/sampling_params.py")
    server = read("srt/entrypoints/http_server.py")
    manager = read("srt/managers/tokenizer_manager.py")
    batch = read("srt/managers/schedule_batch.py")

    generate = schema_in(io_struct, "GenerateReqInput")
    by_fields = "msgspec.Struct" in ast.unparse(ast.Tuple(class_in(sampling, "SamplingParams").bases, ast.Load()))
    params = schema_in(sampling, "SamplingParams") if by_fields else init_schema(sampling, "SamplingParams")
    for internal in ("stop_strs", "stop_regex_strs", "stop_str_max_len", "stop_regex_max_len", "is_normalized", "ebnf_full_assistant"):
        params["properties"].pop(internal, None)
    generate.setdefault("$defs", {})["SamplingParams"] = {**params, "additionalProperties": False}
    generate["properties"]["sampling_params"] = {"$ref": "#/$defs/SamplingParams"}
    protocol = read("srt/entrypoints/openai/protocol.py")
    requests = {
        "/generate": prune(generate),
        "/v1/completions": schema_in(protocol, "CompletionRequest"),
        "/v1/chat/completions": schema_in(protocol, "ChatCompletionRequest"),
        "/load_lora_adapter": schema_in(io_struct, "LoadLoRAAdapterReqInput"),
        "/unload_lora_adapter": schema_in(io_struct, "UnloadLoRAAdapterReqInput"),
        "/update_weights_from_disk": schema_in(io_struct, "UpdateWeightFromDiskReqInput"),
    }
    named = function_in(manager, "detokenize_logprob_tokens")
    stop = function_in(ast.unparse(class_in(batch, "FINISH_MATCHED_TOKEN")), "to_json")(SimpleNamespace(matched=98))
    length = function_in(ast.unparse(class_in(batch, "FINISH_LENGTH")), "to_json")(SimpleNamespace(length=1))

    def answer(ids, logprobs, finish):
        info = {"id": "1", "finish_reason": finish, "prompt_tokens": len(PROMPT), "completion_tokens": len(ids), "cached_tokens": 0,
                "output_token_logprobs": named(None, logprobs, ids, False)}
        if '"weight_version"' in manager:
            info["weight_version"] = "default"
        return {"text": "ab"[: len(ids)], "output_ids": ids, "meta_info": info}

    both = [answer(*SAMPLED[0], stop), answer(*SAMPLED[1], length)]
    card = {"id": MODEL, "object": "model", "created": 1, "owned_by": "sglang", "root": MODEL}
    assert 'owned_by: str = "sglang"' in protocol
    base = {"rid": None, "http_worker_ipc": None} if "class BaseReq" in io_struct and "msgspec" in io_struct else {}
    outcome = lambda **more: {**base, "success": True, "error_message": None, "loaded_adapters": {}, **more}
    answers = {
        "generateOne": plain(both[0]),
        "generate": plain(both),
        "models": {"object": "list", "data": [card]},
        "serverInfo": {"version": version, "model_path": "/models/tiny", "enable_lora": True},
        "loaded": {"status": 200, "json": outcome(loaded_adapters={"policy-r-v1": "/adapters/policy-r-v1"})},
        "loadedTwice": {"status": 400, "json": outcome(success=False, error_message=sglang_words(root, "already"))},
        "unloaded": {"status": 200, "json": outcome()},
        "unloadedTwice": {"status": 400, "json": outcome(success=False, error_message=sglang_words(root, "not loaded"))},
        "paths": routes_in(server),
    }
    if (root / "api" / "v1" / "api_types.py").exists():
        contract = types.ModuleType("api_types")
        sys.modules["api_types"] = contract
        exec(compile(read("api/v1/api_types.py"), "api_types", "exec"), contract.__dict__)  # noqa: S102
        for name, (route, body) in recorded("sglang", version).items():
            if route == "/generate":
                contract.GenerateRequest.from_json_value(body)
                print("the contract takes", name)
    arguments = sglang_arguments(root)
    check_start_lines(("python", "-m", "sglang.launch_server"), lambda words: [
        sys.exit(f"{word} is no argument of SGLang {version}") for word in words
        if word.startswith("--") and word[2:].replace("-", "_") not in arguments])
    write("sglang", version, {"unknownFields": "ignored", "requests": requests, "answers": answers})


def sglang_arguments(root):
    """Names of the server's settings: the annotated fields of its ServerArgs, or of the files it is put together from."""
    files = [root / "srt" / "server_args.py", *(root / "srt" / "arg_groups").glob("fields/*.py")]
    return {"model_path", *(
        node.target.id for file in files for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name))}


def sglang_words(root, part):
    """How the server words a refusal: an f-string of its LoRA registry or manager that says so."""
    for path in ("srt/lora/lora_registry.py", "srt/lora/lora_manager.py", "srt/managers/tokenizer_manager.py"):
        for node in ast.walk(ast.parse((root / path).read_text())):
            if isinstance(node, ast.JoinedStr):
                words = "".join(one.value if isinstance(one, ast.Constant) else "policy-r-v1" for one in node.values)
                if part in words and "LoRA" in words:
                    return words
    raise SystemExit(f"no words with {part!r}: look at the LoRA files of this version")


# TRL


def trl(folder):
    version = pathlib.Path(folder).name.removeprefix("trl-")
    source = (pathlib.Path(folder) / "trl" / "scripts" / "vllm_serve.py").read_text()
    if "class GenerateRequest" not in source:
        sys.path.insert(0, folder)
        from trl.scripts.vllm_serve import build_command, make_parser

        check_start_lines(("trl", "vllm-serve"), lambda words: print(
            *build_command(*make_parser().parse_args_and_config(words, return_remaining_strings=True))[3:]))
        print(f"TRL {version} starts vLLM's own server: its fixture is vLLM's")
        return
    response = schema_in(source, "GenerateResponse")
    nested = "logprob_token_ids" in response["properties"]
    answers = {
        "generate": {
            "completion_ids": [ids for ids, _ in SAMPLED],
            **({"prompt_ids": [PROMPT]} if "prompt_ids" in response["properties"] else {}),
            **({"logprobs": [[[one] for one in logprobs] if nested else logprobs for _, logprobs in SAMPLED]} if "logprobs" in response["properties"] else {}),
            **({"logprob_token_ids": [[[id] for id in ids] for ids, _ in SAMPLED]} if nested else {}),
        },
        "health": {"status": "ok"},
        "components": {"GenerateRequest": schema_in(source, "GenerateRequest"), "GenerateResponse": response},
        "mode": "processed" if 'logprobs_mode="processed_logprobs"' in source else "raw",
        "paths": routes_in(source),
    }
    import pydantic

    fields = {name: (typing.Any, ...) for name in response["properties"]}
    pydantic.create_model("GenerateResponse", __config__=pydantic.ConfigDict(extra="forbid"), **fields)(**answers["generate"])
    write("trl", version, {"unknownFields": "ignored", "requests": {"/generate/": schema_in(source, "GenerateRequest")}, "answers": answers})


# transformers serve


def transformers():
    import transformers as library
    from openai.types import Completion, CompletionChoice, CompletionUsage
    from openai.types.chat import ChatCompletion, ChatCompletionMessage
    from openai.types.chat.chat_completion import Choice
    from transformers.cli.serving import chat_completion, completion, server

    requests = {}
    handlers = {"/v1/completions": completion.CompletionHandler, "/v1/chat/completions": chat_completion.ChatCompletionHandler}
    for route, handler in handlers.items():
        # Typed dictionaries: a field that is not among their keys is refused with 422, one of `_unused_fields` is ignored.
        known = handler._valid_params_class.__mutable_keys__ - handler._unused_fields
        requests[route] = {"type": "object", "properties": {name: {} for name in sorted(known)}}
    usage = CompletionUsage(prompt_tokens=3, completion_tokens=2, total_tokens=5)
    text = Completion(id="1", created=1, model=MODEL, object="text_completion", usage=usage, choices=[
        CompletionChoice(text="ab", index=0, logprobs=None, finish_reason="stop")])
    chat = ChatCompletion(id="1", created=1, model=MODEL, object="chat.completion", usage=usage, choices=[
        Choice(index=0, finish_reason="stop", message=ChatCompletionMessage(role="assistant", content="ab"))])
    app = server.build_server(*[SimpleNamespace(shutdown=lambda: None) for _ in range(7)])
    answers = {
        "completions": text.model_dump(exclude_none=True),
        "chat": chat.model_dump(exclude_none=True),
        "models": {"object": "list", "data": []},
        "paths": sorted(app.openapi()["paths"]),
    }
    for name, (route, body) in recorded("transformers", library.__version__).items():
        handlers[route]._validate_request(SimpleNamespace(_valid_params_class=handlers[route]._valid_params_class, _unused_fields=set()), body)
        print("taken:", name)
    import typer
    from transformers.cli.serve import Serve

    application = typer.Typer()
    application.command()(Serve)
    command = typer.main.get_command(application)
    check_start_lines(("transformers", "serve"), lambda words: command.make_context("serve", list(words)))
    write("transformers", library.__version__, {"unknownFields": "refused", "requests": requests, "answers": answers})


if __name__ == "__main__":
    FIXTURES.mkdir(parents=True, exist_ok=True)
    {"vllm": vllm, "sglang": sglang, "trl": trl, "transformers": transformers}[sys.argv[1]](*sys.argv[2:])
