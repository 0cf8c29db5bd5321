/**
 * One row of a table: training or decoding of one shape, ours and PyTorch alternating.
 *
 *     node --conditions=atropos-src bench/trainer/Turns.ts train SHAPE LENGTH [rows=N] [steps=N] [parts] [OPTION…]
 *     node --conditions=atropos-src bench/trainer/Turns.ts decode SHAPE ROWS [tokens=N] [greedy] [OPTION…]
 *
 * Options: `rounds=N` of each side, by default 2; `layers=N` and `vocabulary=N` instead of the shape's; `int8` and
 * `int4` for our frozen weights. Shapes are those of `internal/Checkpoint.ts`.
 *
 * Each run is a separate process, and the best of each side is reported. On a machine with other load, compare
 * processor time: wall time includes that load. ATROPOS_ORIGINAL_PYTHON names the interpreter with PyTorch,
 * transformers and PEFT (without it, ours alone); SPARING=1 makes PyTorch recompute layers and logits in the backward
 * pass, `parts` makes ours do so regardless of available memory; THREADS applies to both.
 */
import * as Report from "../internal/Report.ts"
import * as Decoding from "./Decoding.ts"
import * as Checkpoint from "./internal/Checkpoint.ts"
import type * as Child from "./internal/Child.ts"
import * as Training from "./Training.ts"

const [command, name = "", size = "", ...words] = process.argv.slice(2)
const usage = "Turns.ts train SHAPE LENGTH … or Turns.ts decode SHAPE ROWS …"
const known = ["layers", "vocabulary", "rows", "steps", "rounds", "tokens"] as const

const fail = (message: string): never => {
  console.error(message)
  process.exit(1)
}

const given: { [key in (typeof known)[number]]?: number } = {}
for (const word of words) {
  const [key, value = ""] = word.split("=")
  const name = known.find((name) => name === key)
  if (["int8", "int4", "greedy", "parts"].includes(word)) continue
  if (name === undefined || !/^\d+$/.test(value)) {
    fail(`"${word}": neither int8, int4, greedy, parts nor ${known.map((name) => `${name}=N`).join(", ")}`)
  } else given[name] = Number(value)
}
const isShape = (word: string): word is Checkpoint.ShapeName => word in Checkpoint.shapes
const shape = isShape(name) ? name : fail(`"${name}" is no shape: one of ${Object.keys(Checkpoint.shapes).join(", ")}`)
const count = /^[1-9]\d*$/.test(size) ? Number(size) : fail(usage)

const look = (side: Child.Side, { peakBytes, processorSeconds, tokensPerSecond }: Child.Figures) =>
  console.log(
    `  ${side}: ${processorSeconds!.toFixed(2)} s of processor time, ${tokensPerSecond.toPrecision(3)} tok/s, ` +
      `${(peakBytes / 2 ** 20).toFixed(0)} MiB`
  )

const common = { ...given, quantize: words.find((word) => /^int\d$/.test(word)), look }
const rows = await (command === "train"
  ? Training.measure(shape, { rows: 1, ...common, length: count, isSparing: words.includes("parts") })
  : command === "decode"
    ? Decoding.measure(shape, count, { ...common, isGreedy: words.includes("greedy") })
    : fail(usage))
console.log(Report.headerBeside("PyTorch"))
for (const row of rows) console.log(Report.line(row))
