/** Draws an example's result: its printed lines with each score in a box, a curve, or the turns of a conversation. */
import * as Svg from "./ExampleSvg.ts"
import { escaped } from "./ExampleSvg.ts"

export type Output = {
  /** The example's name without its extension; also the picture's. */
  readonly example: string
  readonly title: string
} & (
  | { readonly lines: ReadonlyArray<string> }
  | { readonly curve: ReadonlyArray<readonly [step: number, value: number]>; readonly of: string }
  | { readonly turns: ReadonlyArray<readonly [role: string, text: string]>; readonly outcome: string }
)

const width = 560
const margin = 16
const row = 26
const letter = 7.83
const columns = Math.floor((width - 2 * margin) / letter)

/** Breaks text between words into lines that fit. */
const wrapped = (text: string, longest: number): ReadonlyArray<string> =>
  text.split("\n").flatMap((line) => {
    const lines = [""]
    for (const word of line.split(" ")) {
      const last = lines.at(-1)!
      if (last === "") lines[lines.length - 1] = word
      else if (last.length + word.length < longest) lines[lines.length - 1] = `${last} ${word}`
      else lines.push(word)
    }
    return lines
  })

const code = (x: number, y: number, text: string, more = ""): string =>
  `<text class="code${more}" x="${x.toFixed(1)}" y="${y.toFixed(1)}" xml:space="preserve">${escaped(text)}</text>`

const number = String.raw`-?\d+(?:\.\d+)?`
/** Scores and advantages, which become boxes: after these words, as a whole line, or several at the end of a line. */
const runs = new RegExp(
  `(?:(?<=^|scores? |advantages )${number}(?: +${number})*(?=$|,)|(?<=[^\\d.] )${number}(?: ${number})+$)`,
  "g"
)

const box = (score: string, x: number, y: number) => {
  const wide = Math.max(30, score.length * letter + 12)
  const kind = Number(score) > 0 ? "good" : "bad"
  const rectangle = `<rect class="${kind}" x="${x.toFixed(1)}" y="${y - 10}" width="${wide.toFixed(1)}" height="20" rx="4"/>`
  return { wide, markup: rectangle + code(x + (wide - score.length * letter) / 2, y + 5, score) }
}

const line = (text: string, y: number): string => {
  const parts: Array<string> = []
  let x = margin
  let at = 0
  const write = (piece: string) => {
    if (piece.trim() !== "") parts.push(code(x, y + 5, piece))
    x += piece.length * letter
  }
  for (const { 0: run, index } of text.matchAll(runs)) {
    write(text.slice(at, index))
    for (const score of run.split(/ +/)) {
      const { markup, wide } = box(score, x, y)
      parts.push(markup)
      x += wide + letter
    }
    x -= letter
    at = index + run.length
  }
  write(text.slice(at))
  return parts.join("")
}

const printed = (lines: ReadonlyArray<string>) => {
  const fitting = lines.flatMap((one) => wrapped(one, columns - 4))
  return {
    height: 2 * margin + fitting.length * row,
    markup: fitting.map((one, index) => line(one, margin + row * (index + 0.5))).join("\n"),
    description: lines.join("\n")
  }
}

const curve = (points: ReadonlyArray<readonly [number, number]>, of: string) => {
  const height = 200
  const inner = { left: 56, top: 30, width: width - 56 - margin - 30, height: height - 30 - 40 }
  const last = points.at(-1)![0]
  const first = points[0]![0]
  const most = Math.max(...points.map(([, value]) => value))
  const top = most > 0.5 ? 1 : Math.ceil(most * 10) / 10
  const x = (step: number) => inner.left + ((step - first) / (last - first)) * inner.width
  const y = (value: number) => inner.top + (1 - value / top) * inner.height
  const rows = [0, 0.5, 1].map((share) => {
    const value = share * top
    const at = y(value).toFixed(1)
    return `<line x1="${inner.left}" y1="${at}" x2="${inner.left + inner.width}" y2="${at}" opacity=".25"/><text class="word" x="${inner.left - 8}" y="${(y(value) + 4).toFixed(1)}" text-anchor="end">${Number(value.toFixed(2))}</text>`
  })
  const steps = [points[0]!, points.at(-1)!].map(
    ([step]) =>
      `<text class="word" x="${x(step).toFixed(1)}" y="${height - 20}" text-anchor="middle">step ${step}</text>`
  )
  const path = points.map(([step, value]) => `${x(step).toFixed(1)} ${y(value).toFixed(1)}`).join("L")
  const dots =
    points.length > 12
      ? []
      : points.map(
          ([step, value]) =>
            `<rect x="${(x(step) - 3).toFixed(1)}" y="${(y(value) - 3).toFixed(1)}" width="6" height="6" rx="3"/>`
        )
  return {
    height,
    markup: [
      `<text class="word" x="${inner.left}" y="18">${escaped(of)}</text>`,
      ...rows,
      ...steps,
      `<path class="curve" d="M${path}"/>`,
      ...dots
    ].join("\n"),
    description: points.map(([step, value]) => `step ${step}: ${value.toFixed(2)}`).join("\n")
  }
}

const conversation = (turns: ReadonlyArray<readonly [string, string]>, outcome: string) => {
  const parts: Array<string> = []
  let y = margin
  const inset = 96
  for (const [role, text] of turns) {
    const lines = wrapped(text, Math.floor((width - inset - 2 * margin) / letter) - 2)
    const high = lines.length * 18 + 12
    parts.push(
      `<text class="faint" x="${margin}" y="${y + 20}">${escaped(role)}</text>`,
      `<rect x="${inset}" y="${y}" width="${width - inset - margin}" height="${high}" rx="6"/>`,
      ...lines.map((one, index) => code(inset + 10, y + 20 + 18 * index, one))
    )
    y += high + 8
  }
  parts.push(line(outcome, y + 12))
  return {
    height: y + 24 + margin,
    markup: parts.join("\n"),
    description: [...turns.map(([role, text]) => `${role}: ${text}`), outcome].join("\n")
  }
}

export const draw = (output: Output): string => {
  const body =
    "lines" in output
      ? printed(output.lines)
      : "curve" in output
        ? curve(output.curve, output.of)
        : conversation(output.turns, output.outcome)
  return Svg.document({ width, title: output.title, ...body })
}
