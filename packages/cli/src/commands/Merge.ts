/** `atropos merge`: merges an adapter into its model, so that any program can load the result without the adapter. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Merge from "@atropos/trainer/model/Merge"
import * as PretrainedModel from "@atropos/trainer/model/PretrainedModel"
import { Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as BundledModel from "../config/BundledModel.ts"
import * as Services from "../config/Services.ts"
import type { MakeCommand } from "./CliCommand.ts"

const name: string = "merge"

/** An adapter's change is small relative to the weights, and bfloat16 keeps only 8 bits of these. */
const roundingWarning = (share: number): string =>
  `bfloat16 rounds the merged weights: the rounding error is ${(100 * share).toPrecision(2)}% of the adapter's change (root mean square), so answers differ from those of model and adapter; --type float32 (the default) avoids this`

const types = { float32: "F32", bfloat16: "BF16" } as const

export const make: MakeCommand = () =>
  Effect.succeed({
    booleans: new Set<string>(),
    command: Command.make(
      name,
      {
        folder: Argument.String("folder").pipe(Argument.withDescription("folder to write the merged model to")),
        model: Flag.String("model").pipe(
          Flag.withDescription("model that the adapter was trained on: a Hugging Face folder or hub id"),
          Flag.withMetavar("folder|id")
        ),
        adapter: Flag.String("adapter").pipe(
          Flag.withDescription("PEFT folder of the adapter, for example a checkpoint's"),
          Flag.withMetavar("folder")
        ),
        type: Flag.Literals("type", ["float32", "bfloat16"]).pipe(
          Flag.withDescription(
            "dtype of the weights written; bfloat16 takes half the space and rounds [default: float32]"
          ),
          Flag.withDefault("float32" as const)
        )
      },
      ({ adapter, folder, model, type }) =>
        Effect.gen(function* () {
          const base = yield* PretrainedModel.folderOf(BundledModel.located(model))
          const { isUntied, roundingShare, tensors } = yield* Merge.merge({
            model: base,
            adapter,
            to: folder,
            type: types[type]
          })
          yield* Console.log(
            `wrote ${folder}: ${tensors} tensors in ${type}${isUntied ? "; embedding and output matrix are no longer tied" : ""}`
          )
          if (type === "bfloat16") yield* Effect.logWarning(roundingWarning(roundingShare))
        }).pipe(Effect.provide([NodeServices.layer, NodeHttpClient.layerUndici]), Effect.mapError(Services.toFailure))
    ).pipe(
      Command.withExamples([
        {
          command:
            "atropos merge merged --model Qwen/Qwen2.5-0.5B-Instruct --adapter trained_model_checkpoints/step_100",
          description: "a checkpoint's adapter and its model"
        }
      ])
    )
  })
