/** `atropos evaluate diff A B`: compares two evaluations by item. */
import * as Comparison from "@atropos/core/evaluation/Comparison"
import * as SampleHead from "@atropos/core/evaluation/SampleHead"
import { Console, Effect, FileSystem, Path, Stream } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { CommandFailed } from "../../base/Failure.ts"
import * as Table from "../../base/Table.ts"
import * as Summary from "../../job/Summary.ts"
import * as Samples from "../../evaluate/Samples.ts"

/** Where the environment reads no answer out of what was said, that is the answer. */
const answered = (sample: Samples.Sample): Samples.Sample =>
  sample.parsed === undefined ? { ...sample, parsed: SampleHead.of(sample)?.ending ?? null } : sample

/** The samples of a result folder or a sample file; the first file of a folder with several. */
const readSamples = Effect.fn("EvaluateDiff.readSamples")(function* (word: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const isFolder = yield* fs.stat(word).pipe(
    Effect.map(({ type }) => type === "Directory"),
    Effect.orElseSucceed(() => false)
  )
  const file = isFolder ? path.join(word, "samples.jsonl") : word
  const samples = yield* Stream.runCollect(Samples.read(file))
  if (samples.length === 0) return yield* new CommandFailed({ message: `${file}: no samples` })
  const others = isFolder
    ? (yield* fs.readDirectory(word).pipe(Effect.orElseSucceed((): Array<string> => []))).filter((name) =>
        /^samples_\d+\.jsonl$/.test(name)
      )
    : []
  const notes = others.length === 0 ? [] : [`${word} also has ${others.sort().join(", ")}: comparing samples.jsonl`]
  return { items: Comparison.byItem(samples.map(answered)), notes }
})

const signed = (value: number): string => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(4)}`

const row = (name: string, { a, b, interval, p, value }: Comparison.Compared): ReadonlyArray<string> => [
  name.replaceAll("_", " "),
  a.toFixed(4),
  b.toFixed(4),
  signed(value),
  interval === undefined ? "" : `${signed(interval[0])} to ${signed(interval[1])}`,
  p === undefined ? "" : p < 0.0001 ? "< 0.0001" : p.toFixed(4)
]

const headings = (name: string): ReadonlyArray<string> => [name, "A", "B", "B − A", "95% interval", "p"]

const shownChanges = 10

const changesOf = (
  name: string,
  changes: ReadonlyArray<Comparison.Change>,
  labels: ReadonlyMap<string, string>
): ReadonlyArray<string> =>
  changes.length === 0
    ? []
    : [
        "",
        `${name}:`,
        ...changes
          .slice(0, shownChanges)
          .map((change) => `  ${short(labels.get(change.id) ?? change.id, 70)}: ${formatChange(change)}`),
        ...(changes.length > shownChanges ? [`  … ${changes.length - shownChanges} more (--json)`] : [])
      ]

const percent = (share: number): string => `${(100 * share).toFixed(0)}%`

/** Both answers; with several answers per item, the percentages correct. */
const formatChange = ({ after, before, parsed }: Comparison.Change): string =>
  [before, after].every((share) => share === 0 || share === 1)
    ? parsed.map((answer) => short(answer, 40)).join(" → ")
    : `${percent(before)} → ${percent(after)} correct`

const short = (answer: string | null, longest: number): string => {
  if (answer === null) return "(none)"
  const line = answer.replaceAll(/\s+/g, " ").trim()
  return line.length > longest ? `${line.slice(0, longest)}…` : line
}

const print = (
  { broken, categories, correct, fixed, items, onlyInA, onlyInB, scores, unchanged }: Comparison.Comparison,
  labels: ReadonlyMap<string, string>
): string => {
  const kinds = Object.entries(categories)
  return [
    Table.columns(headings("metric"), [
      ...(correct === undefined ? [] : [row("correct", correct)]),
      ...Object.entries(scores).map(([name, one]) => row(name, one))
    ]),
    ...(kinds.length > 1
      ? [
          "",
          Table.columns(
            headings("category"),
            kinds.map(([name, one]) => row(name, one))
          )
        ]
      : []),
    "",
    Summary.print([
      ["items in both", String(items)],
      ["fixed", String(fixed.length)],
      ["broken", String(broken.length)],
      ["unchanged", String(unchanged)],
      ...(onlyInA + onlyInB > 0 ? [["in only one", `${onlyInA} in A, ${onlyInB} in B: not compared`] as const] : [])
    ]),
    ...changesOf("fixed", fixed, labels),
    ...changesOf("broken", broken, labels)
  ].join("\n")
}

const folder = (name: string, description: string) =>
  Argument.String(name).pipe(Argument.withDescription(`${description}: a folder of results, or a file of samples`))

const diff = Command.make(
  "diff",
  {
    a: folder("a", "baseline evaluation"),
    b: folder("b", "evaluation to compare"),
    json: Flag.Boolean("json").pipe(
      Flag.withDescription("print JSON, with all items that changed"),
      Flag.withDefault(false)
    )
  },
  Effect.fnUntraced(function* ({ a, b, json }) {
    const [before, after] = [yield* readSamples(a), yield* readSamples(b)]
    for (const note of [...before.notes, ...after.notes]) yield* Console.error(note)
    const found = Comparison.of(before.items, after.items)
    if (found === undefined) {
      return yield* new CommandFailed({
        message: `${a} and ${b} have no items in common: they are of different suites, or of different rows`
      })
    }
    const labels = new Map(Array.from(after.items, ([id, [first]]) => [id, SampleHead.of(first)?.label ?? id]))
    yield* Console.log(json ? JSON.stringify(found, null, 2) : print(found, labels))
  })
).pipe(Command.withDescription("Compare two evaluations by item"))

const name: string = "evaluate"

export const command = Command.make(name).pipe(Command.withSubcommands([diff]))
