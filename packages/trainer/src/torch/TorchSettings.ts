/** Settings of the PyTorch engine, part of the trainer's. */
import { field } from "@atropos/core/base/Settings"
import { Schema } from "effect"

/** Indices of GPUs, for example `0-3,6`. */
const GpuList = Schema.String.check(Schema.isPattern(/^\d+(-\d+)?(,\d+(-\d+)?)*$/))

export const fields = {
  python: field(
    Schema.NonEmptyString,
    "python3",
    "engine torch: the Python interpreter, with torch, transformers, peft and safetensors"
  ),
  gpus: field(
    Schema.NullOr(GpuList),
    null,
    "engine torch: GPUs to train on, for example 0-3 or 0,2; if unset, the first; without GPUs, the CPU"
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
