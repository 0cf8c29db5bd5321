/** Flags of `sft-gen` and `dpo-gen`: source of groups, form of rows, destination. */
import { Option } from "effect"
import { Argument, type Command, Flag } from "effect/cli"
import type * as Builder from "../../sets/Builder.ts"
import * as Layout from "../../sets/Layout.ts"

export interface SetCommand {
  readonly name: "sft-gen" | "dpo-gen"
  readonly kind: Builder.Kind
  readonly max: { readonly flag: string; readonly description: string; readonly fallback: number }
  readonly minimumDifference: number
  readonly examples: ReadonlyArray<Command.Command.Example>
}

/** The original's default. */
export const defaultTokenizer = "NousResearch/DeepHermes-3-Llama-3-8B-Preview"

const whole = (name: string, description: string, fallback: number) =>
  Flag.Int(name).pipe(
    Flag.filter(
      (value) => value >= 1,
      () => "1 or more"
    ),
    Flag.withDescription(`${description} [default: ${fallback}]`),
    Flag.withDefault(fallback)
  )

const isOn = (name: string, description: string) =>
  Flag.Boolean(name).pipe(Flag.withDescription(description), Flag.withDefault(false))

export const flags = ({ minimumDifference, max }: SetCommand) => ({
  out: Argument.String("out").pipe(
    Argument.withDescription("output file, .jsonl or .parquet; - writes rows to standard output as they come")
  ),
  from: Flag.String("from").pipe(
    Flag.withDescription("JSON Lines file of saved groups; repeat for several files"),
    Flag.withMetavar("file"),
    Flag.atLeast(0)
  ),
  apiUrl: Flag.String("api-url").pipe(
    Flag.withDescription("trajectory service to read from [default: http://localhost:8000]"),
    Flag.optional
  ),
  run: Flag.String("run").pipe(Flag.withDescription("run of the service to read [default: default]"), Flag.optional),
  environment: Flag.String("environment").pipe(
    Flag.withDescription("only groups from this environment"),
    Flag.optional
  ),
  stepFrom: Flag.Int("step-from").pipe(Flag.withDescription("only groups from batches since this step"), Flag.optional),
  stepTo: Flag.Int("step-to").pipe(Flag.withDescription("only groups from batches up to this step"), Flag.optional),
  follow: Flag.Boolean("follow").pipe(
    Flag.withDescription("wait for new groups from the service; --no-follow reads only existing ones [default: true]"),
    Flag.withDefault(true)
  ),
  maxTokenLength: Flag.Int("max-token-len").pipe(
    Flag.filter(
      (value) => value >= 1,
      () => "1 or more"
    ),
    Flag.withDescription("skip longer sequences, in tokens [default: no limit]"),
    Flag.optional
  ),
  saveMessages: isOn("save-messages", "write messages instead of text"),
  textFrom: Flag.Literals("text-from", ["tokens", "messages"]).pipe(
    Flag.withDescription(
      "source of text: the sampled tokens, or the messages with the tokenizer's chat template [default: tokens]"
    ),
    Flag.withDefault("tokens")
  ),
  tokenizer: Flag.String("tokenizer").pipe(
    Flag.withDescription(
      `tokenizer for text: hub id, folder or "bytes" [default: the environment's with --env, otherwise the one that groups record, else ${defaultTokenizer}]`
    ),
    Flag.optional
  ),
  format: Flag.Literals("format", Layout.formats).pipe(
    Flag.withDescription("column layout: the original's, TRL's or Axolotl's [default: original]"),
    Flag.withDefault("original")
  ),
  output: Flag.Literals("output", ["jsonl", "parquet"]).pipe(
    Flag.withDescription("file format [default: by the extension of OUT, else jsonl]"),
    Flag.optional
  ),
  max: whole(max.flag, max.description, max.fallback),
  number: whole("num-seqs-to-save", "rows to write", 100),
  allowNegativeScores: isOn("allow-negative-scores", "also keep scores of 0 or less"),
  minimumDifference: Flag.Finite("minimum-score-diff-max-min").pipe(
    Flag.withDescription(`minimum score difference, exclusive [default: ${minimumDifference}]`),
    Flag.withDefault(minimumDifference)
  ),
  dedupe: isOn("dedupe", "skip duplicate rows, regardless of their scores"),
  validationFraction: Flag.Finite("validation-fraction").pipe(
    Flag.filter(
      (value) => value >= 0 && value < 1,
      () => "a number from 0 to below 1"
    ),
    Flag.withDescription(
      "fraction of prompts written to OUT-validation, the rest to OUT-train; 0: one file [default: 0]"
    ),
    Flag.withDefault(0)
  ),
  seed: Flag.Int("seed").pipe(
    Flag.withDescription("random seed for the split and the choice of pairs [default: 0]"),
    Flag.withDefault(0)
  ),
  append: isOn("append-to-previous", "append to OUT if it exists"),
  resume: Flag.Boolean("resume").pipe(
    Flag.withDescription("resume an unfinished run; --no-resume discards it [default: true]"),
    Flag.withDefault(true)
  ),
  report: Flag.String("report").pipe(
    Flag.withDescription("file for a report of kept and skipped rows, with reasons [default: OUT.report.json]"),
    Flag.withMetavar("file"),
    Flag.optional
  )
})

export type Values = Command.Command.Config.Infer<ReturnType<typeof flags>>

/** The given flags that select what is read from a service. */
export const ofService = ({ apiUrl, environment, run, stepFrom, stepTo }: Values): ReadonlyArray<string> =>
  Object.entries({ "api-url": apiUrl, run, environment, "step-from": stepFrom, "step-to": stepTo })
    .filter(([, value]: readonly [string, Option.Option<unknown>]) => Option.isSome(value))
    .map(([flag]) => `--${flag}`)

export const booleans = ["follow", "save-messages", "allow-negative-scores", "dedupe", "append-to-previous", "resume"]

/** Those that only `--help-all` lists. */
export const advanced = [
  "environment",
  "follow",
  "validation-fraction",
  "step-from",
  "step-to",
  "max-token-len",
  "text-from",
  "minimum-score-diff-max-min",
  "append-to-previous",
  "report",
  "seed"
]

/** `--from a b c` after OUT means three files, as the shell expands `*.jsonl`. */
export const normalizeArgs = (words: ReadonlyArray<string>): ReadonlyArray<string> => {
  const spelled: Array<string> = []
  let positional = 0
  let isListing = false
  words.forEach((word, index) => {
    const isFlag = word.startsWith("-") && word !== "-"
    const before = words[index - 1]
    if (isFlag) isListing = false
    else if (before === "--from") isListing = true
    // After the command and OUT, a positional argument is another file of `--from`.
    else if (isListing && positional >= 2) spelled.push("--from")
    else if (before === undefined || !before.startsWith("--") || before.includes("=") || isBoolean(before)) {
      positional++
      isListing = false
    }
    spelled.push(word)
  })
  return spelled
}

const isBoolean = (word: string): boolean => booleans.some((name) => word === `--${name}` || word === `--no-${name}`)
