/** Flags of `up` for what samples while PyTorch trains: the local engine, or a vLLM that the command starts. */
import * as TorchCommand from "@atropos/trainer/torch/TorchCommand"
import * as Words from "@atropos/envs/base/Words"
import { Effect, Option, Result } from "effect"
import { Flag } from "effect/cli"
import { UsageError } from "../base/Failure.ts"

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
      "sampler vllm: more arguments of vllm serve, quoted as in a shell: --vllm_args='--enforce-eager'"
    ),
    Flag.optional
  ),
  samplerGpus: Flag.String("sampler_gpus").pipe(
    Flag.withSchema(TorchCommand.GpuList),
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
export const vllmOf = Effect.fnUntraced(function* ({ sampler, samplerGpus, vllm, vllmArgs }: Given) {
  if (sampler === "engine") return undefined
  const more = Option.isNone(vllmArgs) ? Result.succeed([]) : Words.split(vllmArgs.value)
  return {
    program: vllm,
    more: yield* Effect.mapError(
      Effect.fromResult(more),
      (reason) => new UsageError({ message: `--vllm_args: ${reason}` })
    ),
    gpus: Option.getOrUndefined(Option.map(samplerGpus, (list) => TorchCommand.gpusOf(list).join(",")))
  }
})
