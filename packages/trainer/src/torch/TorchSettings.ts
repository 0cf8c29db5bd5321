/** Settings of the PyTorch engine, part of the trainer's. */
import { field } from "@atropos/core/base/Settings"
import { Schema } from "effect"
import * as TorchCommand from "./TorchCommand.ts"

export const fields = {
  python: field(
    Schema.NullOr(Schema.NonEmptyString),
    null,
    "engine torch: the Python interpreter, with torch, transformers, peft and safetensors; if unset, that of atropos torch install, else python3"
  ),
  gpus: field(
    Schema.NullOr(TorchCommand.GpuList),
    null,
    "engine torch: GPUs to train on, for example 0-3 or 0,2; if unset, the first; without GPUs, the CPU"
  ),
  nodes: field(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1024 })),
    1,
    "engine torch: machines to train on, each with as many GPUs; the others run atropos torch join"
  ),
  rendezvous: field(
    Schema.NullOr(Schema.NonEmptyString),
    null,
    "engine torch on several machines: host:port of this one, where the others join; on a network of their own, since it has no key"
  ),
  parallel: field(
    Schema.Literals(["ddp", "fsdp"]),
    "ddp",
    "engine torch on several GPUs: each holds the whole model (ddp), or a part of it (fsdp, for models that do not fit into one)"
  ),
  dtype: field(
    Schema.Literals(["auto", "float32", "bfloat16"]),
    "auto",
    "engine torch: type of computation; trained weights stay in float32; auto: bfloat16 on GPUs"
  )
}
