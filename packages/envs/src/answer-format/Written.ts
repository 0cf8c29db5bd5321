/** Writes an answer in a format: the example in a prompt, and a sample of a right answer. */
import type { Line, Rule, Section } from "./Rule.ts"

/** The placeholder for the answer in prompts; not accepted as an answer. */
export const placeholder = "your answer"

/** The values to write, in addition to the answer. */
interface Filling {
  readonly answer: string
  readonly section: (section: Section) => string
  readonly share: string
}

const line = (one: Line, { answer, share }: Filling): string => {
  if ("head" in one) return one.head
  const value = one.value === "share" ? share : one.value === "quoted" ? JSON.stringify(answer) : answer
  return `${one.key}${one.separator}${value}`
}

const sections = (all: ReadonlyArray<Section>, filling: Filling): string =>
  all
    .map((section) => {
      const { begins, has, isAnswer, tag } = section
      if (has !== undefined) return `<${tag}>\n${sections(has, filling)}\n</${tag}>`
      const inner = isAnswer === true ? filling.answer : filling.section(section)
      return `<${tag}>${begins === undefined ? "" : `${begins} `}${inner}</${tag}>`
    })
    .join("\n")

const written = (rule: Rule, filling: Filling): string => {
  const { answer, section, share } = filling
  switch (rule.kind) {
    case "between":
      return `${rule.open}${answer}${rule.close}`
    case "begins":
      return `${rule.mark} ${answer}`
    case "json": {
      if (rule.shape === "text") return JSON.stringify(answer)
      if (rule.shape === "list") return JSON.stringify([answer])
      const keys = rule.keys ?? ["answer"]
      const values = keys.map((key, at) => {
        const value = at === keys.length - 1 ? answer : section({ tag: key, for: key })
        return `${JSON.stringify(key)}: ${JSON.stringify(value)}`
      })
      return `{${[...values, ...(rule.confidence === true ? [`"confidence": ${share}`] : [])].join(", ")}}`
    }
    case "lines":
      return rule.lines
        .map((one, at) =>
          line(one, { ...filling, answer: at === answerAt(rule.lines) ? answer : section({ tag: String(at) }) })
        )
        .join("\n")
    case "sections":
      return sections(rule.sections, filling)
  }
}

/** The index of the line with the answer: the last one with a text. */
export const answerAt = (lines: ReadonlyArray<Line>): number =>
  lines.findLastIndex((one) => "value" in one && one.value !== "share")

export const shownIn = ({ for: purpose = "…", kind }: Section): string =>
  kind === "truth" ? "TRUE or FALSE" : kind === "grade" ? "1 to 10" : purpose

export const exampleOf = (rule: Rule): string =>
  written(rule, {
    answer: rule.kind === "between" && rule.inner === "letter" ? "letter" : placeholder,
    section: shownIn,
    share: "0.9"
  })

export const sample = (rule: Rule, answer: string): string =>
  written(rule, {
    answer,
    section: ({ kind }) => (kind === "truth" ? "TRUE" : kind === "grade" ? "7" : "Said in a few words."),
    share: "0.75"
  })
