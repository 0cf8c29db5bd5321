/** Flags of `up` for what samples while PyTorch trains: the local engine, or a vLLM that the command starts. */
import * as TorchCommand from "@atropos/trainer/torch/TorchCommand"
import { Option } from "effect"
import { Flag } from "effect/cli"

export const flags = {
  sampler: Flag.Literals("sampler", ["engine", "vllm"]).pipe(
    Flag.withDescription(
      "what samples with --engine torch: the local engine, or a vLLM that the command starts [default: engine]"
    ),
    Flag.withDefault("engine")
  ),
  vllm: Flag.String("vllm").pipe(
    Flag.withDescription("sampler vllm: its executable [default: vllm]"),
    Flag.withDefault("vllm")
  ),
  vllmArgs: Flag.String("vllm_args").pipe(
    Flag.withDescription(
      "sampler vllm: more arguments of vllm serve, separated by spaces: --vllm_args='--enforce-eager'"
    ),
    Flag.optional
  ),
  samplerGpus: Flag.String("sampler_gpus").pipe(
    Flag.withDescription("sampler vllm: its GPUs, for example 1 or 4-7 [default: it shares the trainer's]"),
    Flag.optional
  )
}

/** Those that few runs need. */
export const advanced = ["sampler", "vllm", "vllm_args", "sampler_gpus"]

export interface Given {
  readonly sampler: "engine" | "vllm"
  readonly vllm: string
  readonly vllmArgs: Option.Option<string>
  readonly samplerGpus: Option.Option<string>
}

/** The program, its further arguments and its GPUs; undefined for the local engine. */
export const vllmOf = ({ sampler, samplerGpus, vllm, vllmArgs }: Given) =>
  sampler === "engine"
    ? undefined
    : {
        program: vllm,
        more: Option.match(vllmArgs, {
          onNone: () => [],
          onSome: (text) => text.split(/\s+/).filter((word) => word !== "")
        }),
        gpus: Option.getOrUndefined(Option.map(samplerGpus, (list) => TorchCommand.gpusOf(list).join(",")))
      }
