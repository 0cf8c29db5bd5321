/** `atropos train`: runs the trainer against a trajectory service. */
import * as StopOn from "@atropos/trainer/run/StopOn"
import { Console, Effect, Option } from "effect"
import { Command } from "effect/cli"
import * as ConfigFile from "../config/ConfigFile.ts"
import * as Metrics from "../config/Metrics.ts"
import * as Services from "../config/Services.ts"
import * as TrainerRun from "../config/TrainerRun.ts"
import * as Summary from "../job/Summary.ts"
import { UsageError } from "../base/Failure.ts"
import * as Recipe from "../up/Recipe.ts"
import * as Pretrained from "../train/Pretrained.ts"
import * as RemoteEngine from "../train/RemoteEngine.ts"
import * as TorchRun from "../train/TorchRun.ts"
import * as HealthLines from "../train/HealthLines.ts"
import * as Train from "../train/Train.ts"
import type { MakeCommand } from "./CliCommand.ts"

const name: string = "train"

export const make: MakeCommand = () =>
  Effect.succeed({
    booleans: new Set([...TrainerRun.booleans, ...Metrics.booleans]),
    normalizeArgs: (words: ReadonlyArray<string>) => Metrics.normalizeArgs(TrainerRun.normalizeArgs(words)),
    command: Command.make(
      name,
      {
        config: ConfigFile.flag,
        metrics: Metrics.flags,
        ...TrainerRun.flags()
      },
      ({ config, ...input }) =>
        Effect.gen(function* () {
          const file = Option.isSome(config) ? yield* ConfigFile.read(config.value, Option.none()) : ConfigFile.empty
          const settings = yield* TrainerRun.make({ mode: {}, file: file.sections, input })
          if (settings.trainer.model === Recipe.scratch) {
            return yield* new UsageError({
              message: `--model ${Recipe.scratch} works only with up, which knows the environment; give train a folder or a hub id`
            })
          }
          const unseen = StopOn.problem(settings.trainer.stopOn)
          if (unseen !== undefined) return yield* new UsageError({ message: unseen })
          yield* Pretrained.check(settings.trainer.model)
          if (RemoteEngine.isRemote(settings)) yield* RemoteEngine.check(settings)
          if (TorchRun.isAsked(settings)) yield* TorchRun.check(settings)
          const metrics = yield* Metrics.make(input.metrics, file.sections["metrics"])
          const isSeqLenGiven = TrainerRun.isGiven({ file: file.sections, input }, "seq_len")
          const { cards, folder, lines } = yield* Train.run(settings, metrics, isSeqLenGiven)
          yield* Console.log("")
          yield* Console.log(Summary.print([...lines, ...HealthLines.of(cards), ["checkpoints", folder]]))
        }).pipe(Effect.mapError(Services.toFailure))
    ).pipe(
      Command.withExamples([
        {
          command: "atropos train --model Qwen/Qwen2.5-0.5B-Instruct --lora.r 16 --batch-size 64 --steps 200 --lr 1e-4",
          description: "train an adapter on batches from the service at http://localhost:8000"
        },
        {
          command: `atropos train --model ./model --loss dapo --weight-sync '["vllm+http://localhost:9001"]'`,
          description: "push new adapters to a vLLM server"
        }
      ])
    )
  })
