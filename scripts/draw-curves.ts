/**
 * Draws learning curves of runs, one panel per task and one line per run: step rewards (trailing means), from
 * `metrics.jsonl`. Up to three panels are side by side, more in rows of two.
 *
 *     node scripts/draw-curves.ts <file.svg> "<title>=<run folder>,<run folder>,…" "<title>=…"
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

const [out = "curves.svg", ...tasks] = process.argv.slice(2)

const size = { width: 430, height: 240, left: 44, right: 14, top: 34, bottom: 40 }
const perRow = tasks.length > 3 ? 2 : tasks.length
const colours = ["#2563eb", "#d97706", "#059669", "#9333ea"]
const window = 5
const tick = 0.25

const rewardsOf = (folder: string): ReadonlyArray<number> =>
  readFileSync(join(folder, "metrics.jsonl"), "utf8")
    .trim()
    .split("\n")
    .map((line) => Number(JSON.parse(line)["reward/mean"]))

const smoothed = (values: ReadonlyArray<number>): ReadonlyArray<number> =>
  values.map((_, at) => {
    const last = values.slice(Math.max(0, at + 1 - window), at + 1)
    return last.reduce((sum, value) => sum + value, 0) / last.length
  })

const text = (at: readonly [number, number], anchor: string, content: string, more = ""): string =>
  `<text x="${at[0].toFixed(1)}" y="${at[1].toFixed(1)}" text-anchor="${anchor}"${more}>${content}</text>`

const panel = (task: string, index: number): string => {
  const [title = "", folders = ""] = task.split("=")
  const runs = folders.split(",").map((folder) => smoothed(rewardsOf(folder)))
  const steps = Math.max(...runs.map(({ length }) => length))
  const inner = { width: size.width - size.left - size.right, height: size.height - size.top - size.bottom }
  const x = (step: number) => size.left + (inner.width * step) / steps
  const least = Math.min(0, ...runs.flat())
  const from = Math.floor(least / tick) * tick
  const y = (reward: number) => size.top + (inner.height * (1 - reward)) / (1 - from)
  const rows = Array.from({ length: Math.round((1 - from) / tick) + 1 }, (_, at) => from + at * tick).map(
    (reward) =>
      `<path d="M${size.left} ${y(reward).toFixed(1)}h${inner.width}" stroke="#88888855"/>` +
      text([size.left - 6, y(reward) + 4], "end", String(reward))
  )
  const columns = [0, 0.5, 1].map((share) =>
    text([x(share * steps), size.height - size.bottom + 16], "middle", String(Math.round(share * steps)))
  )
  const lines = runs.map((rewards, run) => {
    const points = rewards.map((reward, at) => `${x(at + 1).toFixed(1)} ${y(reward).toFixed(1)}`).join("L")
    return `<path d="M${points}" fill="none" stroke="${colours[run % colours.length]}" stroke-width="1.6"/>`
  })
  const [column, row] = [index % perRow, Math.floor(index / perRow)]
  return `<g transform="translate(${column * size.width} ${row * size.height})">${[
    text([size.left, 20], "start", title, ' font-weight="600"'),
    ...rows,
    ...columns,
    text([size.left + inner.width / 2, size.height - 6], "middle", "step"),
    ...lines
  ].join("\n")}</g>`
}

const [width, height] = [size.width * perRow, size.height * Math.ceil(tasks.length / perRow)]
writeFileSync(
  out,
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="sans-serif" font-size="12" fill="#777">
<title>Mean reward of training steps, means of ${window} steps</title>
${tasks.map(panel).join("\n")}
</svg>
`
)
console.log(`${out}: ${tasks.length} panels`)
