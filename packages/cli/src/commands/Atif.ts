/**
 * `atropos atif`: converts saved groups to ATIF documents, the trajectory format of Harbor, or to OpenEnv's training
 * traces, and back.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as Conversion from "../atif/Conversion.ts"
import { CommandFailed, UsageError } from "../base/Failure.ts"
import type { MakeCommand } from "./CliCommand.ts"

const name: string = "atif"

interface FlagValues {
  readonly files: ReadonlyArray<string>
  readonly out: string
  readonly format: "atif" | "training-trace"
  readonly score: Option.Option<number>
  readonly agent: string
  readonly model: Option.Option<string>
}

const convert = Effect.fnUntraced(function* ({ agent, files, format, model, out, score }: FlagValues) {
  const areDocuments = files.every((file) => file.endsWith(".json"))
  if (!areDocuments && !files.every((file) => file.endsWith(".jsonl"))) {
    return yield* new UsageError({
      message: "give saved groups (.jsonl) to convert to ATIF, or ATIF documents (.json) to convert to groups"
    })
  }
  if (!areDocuments && Option.isSome(score)) {
    return yield* new UsageError({ message: "--score is for ATIF documents; saved groups have scores" })
  }
  const documents =
    format === "training-trace"
      ? Conversion.trainingTrace
      : Conversion.atif({
          name: agent,
          version: "unknown",
          ...(Option.isSome(model) && { modelName: model.value })
        })
  const { passedOver, written } = areDocuments
    ? yield* Conversion.toGroups(files, out, documents, Option.getOrUndefined(score))
    : yield* Conversion.toDocuments(files, out, documents)
  for (const one of passedOver) yield* Console.error(one)
  const what = areDocuments ? (written === 1 ? "group" : "groups") : written === 1 ? "document" : "documents"
  yield* Console.log(`${written} ${what} in ${out}${passedOver.length > 0 ? `, ${passedOver.length} skipped` : ""}`)
  if (written === 0) return yield* new CommandFailed({ message: "nothing could be converted" })
})

export const make: MakeCommand = () =>
  Effect.succeed({
    command: Command.make(
      name,
      {
        files: Argument.String("file").pipe(
          Argument.withDescription("saved groups (.jsonl), or ATIF documents (.json)"),
          Argument.atLeast(1)
        ),
        out: Flag.String("out").pipe(
          Flag.withDescription("output folder for documents, or file for saved groups; never overwrites"),
          Flag.withMetavar("folder|file.jsonl")
        ),
        format: Flag.Literals("format", ["atif", "training-trace"]).pipe(
          Flag.withDescription(
            "format of documents: atif, or OpenEnv's training-trace, with exact tokens [default: atif]"
          ),
          Flag.withDefault("atif" as const)
        ),
        score: Flag.Finite("score").pipe(
          Flag.withDescription("score of documents without one [default: none; they are skipped]"),
          Flag.optional
        ),
        agent: Flag.String("agent").pipe(
          Flag.withDescription("agent name in documents [default: atropos]"),
          Flag.withDefault("atropos")
        ),
        model: Flag.String("model").pipe(Flag.withDescription("model name in documents"), Flag.optional)
      },
      (flags) => convert(flags).pipe(Effect.provide(NodeServices.layer))
    ).pipe(
      Command.withExamples([
        { command: "atropos atif sessions.jsonl --out trajectories", description: "one document per sequence" },
        {
          command: "atropos atif trajectories/*.json --out groups.jsonl --score 1",
          description: "trajectories of other agents, as saved groups"
        }
      ])
    )
  })
