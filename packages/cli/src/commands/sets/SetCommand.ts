/** Implements `sft-gen` and `dpo-gen`: selects a source and a row form, and writes the data set. */
import { SavedGroup, type ScoredGroup, StoredRollouts, Tokenizer } from "@atropos/core"
import { Config, Effect, Option, Stream } from "effect"
import { Command, Flag } from "effect/cli"
import * as BundledModel from "../../config/BundledModel.ts"
import * as Services from "../../config/Services.ts"
import * as Words from "../../config/Words.ts"
import { CommandFailed, type Failure, UsageError } from "../../base/Failure.ts"
import * as Generate from "../../sets/Generate.ts"
import type * as Sample from "../../sets/Sample.ts"
import * as HelpFlags from "../../help/HelpFlags.ts"
import * as TokenizerMatch from "../../sets/TokenizerMatch.ts"
import type * as RowFile from "../../sets/RowFile.ts"
import * as Files from "../../sets/source/Files.ts"
import * as Rollouts from "../../sets/source/Rollouts.ts"
import * as Service from "../../sets/source/Service.ts"
import type { Source } from "../../sets/source/Source.ts"
import * as EnvironmentCommand from "../EnvironmentCommand.ts"
import * as SetFlags from "./SetFlags.ts"
import type { MakeCommand, CliCommand } from "../CliCommand.ts"

const endingOf = (out: string): RowFile.Container | undefined =>
  /\.parquet$/i.test(out) ? "parquet" : /\.(jsonl|ndjson)$/i.test(out) ? "jsonl" : undefined

/** The extension of a file that readers would not take for JSON Lines: a table, or a compressed file. */
const otherEnding = (out: string): string | undefined =>
  /\.(csv|tsv|gz|zst|bz2|xz|zip|arrow|feather|xlsx)$/i.exec(out)?.[0]

const checked = ({ name, kind }: SetFlags.SetCommand, flags: SetFlags.Values) => {
  const { format, out, output, validationFraction } = flags
  const ending = endingOf(out)
  const other = Option.isNone(output) ? otherEnding(out) : undefined
  const container = Option.getOrElse(output, () => ending ?? "jsonl")
  const isStandardOutput = out === "-"
  const mistakes: ReadonlyArray<readonly [isMade: boolean, message: string]> = [
    [
      ending !== undefined && ending !== container,
      `${out} has the extension of a ${ending} file, but --output is ${container}`
    ],
    [
      other !== undefined,
      `${out} would be JSON Lines, not what ${other} means: name it .jsonl or .parquet, or set --output`
    ],
    [isStandardOutput && container === "parquet", "parquet cannot be written to standard output: give a file"],
    [isStandardOutput && validationFraction > 0, "two splits cannot be written to standard output: give a file"],
    [isStandardOutput && flags.append, "--append-to-previous needs a file, but OUT is standard output"],
    [kind === "dpo" && format === "trl-messages", "--format trl-messages is for sft-gen; for pairs, use --format trl"]
  ]
  const wrong = mistakes.find(([isMade]) => isMade)?.[1]
  return wrong === undefined ? Effect.succeed(container) : Effect.fail(new UsageError({ message: `${name}: ${wrong}` }))
}

/** Text or messages; a tokenizer is only loaded if needed. */
const formOf = <R>(flags: SetFlags.Values, fallback: Effect.Effect<Tokenizer.TokenizerShape, Failure, R>) =>
  Effect.gen(function* () {
    if (flags.saveMessages) {
      const counting = yield* Option.match(flags.tokenizer, { onNone: () => Effect.undefined, onSome: load })
      return { _tag: "Messages", ...(counting !== undefined && { tokenizer: counting }) } satisfies Sample.Form
    }
    const tokenizer = yield* Option.match(flags.tokenizer, { onNone: () => fallback, onSome: load })
    const { chatTemplate } = tokenizer
    if (flags.textFrom === "messages" && chatTemplate !== undefined && chatTemplate({ tools: false }) === undefined) {
      return yield* new UsageError({
        message: `--text-from messages: the tokenizer ${tokenizer.name} has no chat template. Give an instruct model's (--tokenizer), or --text-from tokens`
      })
    }
    return {
      _tag: "Text",
      tokenizer,
      from: flags.textFrom,
      dropBos: flags.format === "trl" || flags.format === "trl-messages"
    } satisfies Sample.Form
  })

const load = (name: string): Effect.Effect<Tokenizer.TokenizerShape, Failure> =>
  Tokenizer.Tokenizer.pipe(
    Effect.provide(Tokenizer.layerNamed(BundledModel.located(name))),
    Effect.mapError(
      (error) =>
        new CommandFailed({
          message: `the tokenizer ${name} (--tokenizer): ${error.message}. Give the policy's tokenizer, a folder or a hub id; --save-messages needs none`,
          cause: error
        })
    )
  )

const generate = Effect.fnUntraced(function* <R>(
  spec: SetFlags.SetCommand,
  flags: SetFlags.Values,
  form: Sample.Form,
  source: Source<R>
) {
  const container = yield* checked(spec, flags)
  const { allowNegativeScores, dedupe, format, minimumDifference, max, seed, validationFraction } = flags
  const maxTokens = Option.getOrElse(flags.maxTokenLength, () => Number.POSITIVE_INFINITY)
  const rules = { format, max, allowNegativeScores, minimumDifference, dedupe, validationFraction, seed }
  yield* Generate.run(
    {
      command: spec.name,
      out: flags.out,
      container,
      number: flags.number,
      appends: flags.append,
      resumes: flags.resume,
      builder: { kind: spec.kind, form, maxTokens, ...rules },
      flagValues: {
        command: spec.name,
        output: container,
        format,
        save_messages: flags.saveMessages,
        ...(form._tag === "Text" && { text_from: form.from, tokenizer: form.tokenizer.name }),
        [spec.max.flag.replaceAll("-", "_")]: max,
        allow_negative_scores: allowNegativeScores,
        minimum_score_diff_max_min: minimumDifference,
        max_token_len: Option.getOrNull(flags.maxTokenLength),
        dedupe,
        validation_fraction: validationFraction,
        seed
      },
      report: flags.report
    },
    source
  )
})

/** The first group of the files. */
const firstGroup = ([file]: ReadonlyArray<string>) =>
  file === undefined
    ? Effect.succeedNone
    : SavedGroup.read(file).pipe(
        Stream.filter((entry) => entry._tag !== "Fault"),
        Stream.runHead,
        Effect.map(Option.map(({ group }) => group)),
        // An unreadable file is reported when its groups are read.
        Effect.catch(() => Effect.succeedNone)
      )

/** The tokenizer that a group of the source records, otherwise the original's. */
const recordedTokenizer = <E, R>(
  group: Effect.Effect<Option.Option<ScoredGroup.ScoredGroup>, E, R>
): Effect.Effect<string, E, R> =>
  Effect.map(group, (found) => {
    const recorded = Option.flatMap(found, (one) => Option.fromNullishOr(TokenizerMatch.recordedIn(one)))
    return Option.match(recorded, { onNone: () => SetFlags.defaultTokenizer, onSome: ({ name }) => name })
  })

const token = Config.option(Config.Redacted("ATROPOS_TOKEN")).pipe(Effect.orDie)

/** Refuses flags of a service for another source, whose groups they would not select. */
const withoutService = (flags: SetFlags.Values, source: "--env" | "--from"): Effect.Effect<void, UsageError> => {
  const [flag] = SetFlags.ofService(flags)
  return flag === undefined
    ? Effect.void
    : Effect.fail(
        new UsageError({
          message: `${flag} and ${source} cannot be combined: ${flag} is about the groups of a service. Remove one`
        })
      )
}

const fromElsewhere = Effect.fnUntraced(function* (spec: SetFlags.SetCommand, flags: SetFlags.Values) {
  yield* checked(spec, flags)
  if (flags.from.length > 0) yield* withoutService(flags, "--from")
  const { environment, follow, from, stepFrom, stepTo } = flags
  if (from.length > 0) {
    const form = yield* formOf(flags, Effect.flatMap(recordedTokenizer(firstGroup(from)), load))
    return yield* generate(spec, flags, form, Files.make(from, { joinsSessions: spec.kind === "dpo" }))
  }
  const url = Option.getOrElse(flags.apiUrl, () => "http://localhost:8000").replace(/(?<!\/)\/+$/, "")
  const run = Option.getOrElse(flags.run, () => "default")
  const secret = yield* token
  const service = { url, run, ...(Option.isSome(secret) && { token: secret.value }) }
  const options: Service.Options = {
    url,
    run,
    follows: follow,
    ...(Option.isSome(environment) && { environment: environment.value }),
    ...(Option.isSome(stepFrom) && { stepFrom: stepFrom.value }),
    ...(Option.isSome(stepTo) && { stepTo: stepTo.value })
  }
  yield* Effect.gen(function* () {
    const form = yield* formOf(flags, Effect.flatMap(recordedTokenizer(Service.newestGroup(options)), load))
    yield* generate(spec, flags, form, Service.make(options))
  }).pipe(Effect.provide(StoredRollouts.layer(service)))
})

/** Creates the command, with the flags of an environment if the arguments name one. */
export const make =
  (spec: SetFlags.SetCommand): MakeCommand =>
  (words) => {
    const own = SetFlags.flags(spec)
    const name: string = spec.name
    const made: Effect.Effect<CliCommand, Failure, Command.Environment> =
      Words.argValue(words, "env") === undefined
        ? Effect.succeed({
            command: Command.make(
              name,
              {
                env: Flag.String("env").pipe(
                  Flag.withDescription(
                    "roll out this environment (a name or a file); --help-all lists its settings too"
                  ),
                  Flag.withMetavar("name|file"),
                  Flag.optional
                ),
                own
              },
              (input) => fromElsewhere(spec, input.own)
            ).pipe(
              Command.withExamples(spec.examples),
              Command.annotate(HelpFlags.Flags, { advanced: SetFlags.advanced })
            ),
            booleans: new Set(SetFlags.booleans)
          })
        : EnvironmentCommand.make({
            name,
            own,
            ownBooleans: SetFlags.booleans,
            examples: spec.examples,
            advanced: SetFlags.advanced,
            ignored: [
              ...EnvironmentCommand.ofServing,
              "env.max_eval_workers",
              "env.data_dir_to_save_evals",
              "env.data_path_to_save_groups",
              "metrics."
            ],
            mode: () => ({ ensure_scores_are_not_same: false, include_messages: true, total_steps: -1 }),
            handle: (settings, flags) =>
              Effect.gen(function* () {
                yield* checked(spec, flags)
                if (flags.from.length > 0) {
                  return yield* new UsageError({ message: "--env and --from cannot be combined: give one source" })
                }
                yield* withoutService(flags, "--env")
                yield* Effect.gen(function* () {
                  const form = yield* formOf(flags, Tokenizer.Tokenizer)
                  yield* generate(spec, flags, form, yield* Rollouts.make(flags.out))
                }).pipe(Services.provide(settings))
              })
          })(words)
    return Effect.map(made, (one) => ({ ...one, normalizeArgs: SetFlags.normalizeArgs }))
  }
