/** Defines answer formats made of several tags: explanations around an answer, reports, scratchpads, gradings. */
import type { Format, Section } from "./Rule.ts"

const part = (tag: string, words = tag.toLowerCase().replaceAll("_", " ")): Section => ({ tag, for: `the ${words}` })
const answer = (tag: string, words?: string): Section => ({ ...part(tag, words), isAnswer: true })
const group = (tag: string, has: ReadonlyArray<Section>): Section => ({ tag, has })

/** `THOUGHT_1`, `THOUGHT_2`. */
const numbered = (tag: string, count = 2): ReadonlyArray<Section> =>
  Array.from({ length: count }, (_, index) => part(`${tag}_${index + 1}`, `${tag.toLowerCase()} number ${index + 1}`))

/** An explanation that contains the answer in its own tag. */
const nested = (name: string, outer: string, inner: string): Format => ({
  name,
  rule: { kind: "sections", sections: [group(outer, [{ ...answer(inner, "answer"), tag: inner }])] }
})

const form = (name: string, first: Section, ...rest: ReadonlyArray<Section>): Format => ({
  name,
  rule: { kind: "sections", sections: [first, ...rest] }
})

const code = (format: Format): Format => ({ ...format, domain: "code" })
const math = (format: Format): Format => ({ ...format, domain: "math" })

const restatement = part("RESTATEMENT")
const thoughts = group("REASONING", numbered("THOUGHT"))
const plan = group("PLAN", numbered("STEP"))
const [criticised1, criticised2] = [1, 2].map((index) => [
  part(`STEP_${index}`, `step number ${index}`),
  part(`CRITIQUE_${index}`, `critique of step ${index}`)
])
const judged = (subject: string): ReadonlyArray<Section> => [
  part(`${subject}_EXPLANATION`),
  { tag: `${subject}_CLASSIFICATION`, kind: "truth" }
]
const criterion = (index: number): ReadonlyArray<Section> => [
  part(`CRITERION_${index}`, `assessment of criterion ${index}`),
  { tag: `SCORE_${index}`, kind: "grade" }
]
const [firstClass, ...otherClasses] = ["COMPLETENESS", "GRAMMAR", "SCIENTIFIC", "PROGRAMMING"].flatMap(judged)

export const sectioned: ReadonlyArray<Format> = [
  nested("nested-response-answer", "response", "answer"),
  nested("nested-solution-answer", "solution", "answer"),
  nested("nested-output-result", "output", "result"),
  nested("nested-analysis-conclusion", "analysis", "conclusion"),
  nested("nested-reasoning-answer", "reasoning", "answer"),
  form("multiple-tags", part("theory"), answer("answer"), part("explanation")),
  code(
    form(
      "complex-coding-format",
      restatement,
      thoughts,
      plan,
      group("PYDANTIC_SCHEMAS", numbered("SCHEMA")),
      part("DIAGRAM"),
      part("REFLECTION"),
      answer("SOLUTION"),
      part("EXPLANATION"),
      part("UNIT_TEST")
    )
  ),
  code(form("complex-coding-simple", restatement, thoughts, plan, answer("SOLUTION"), part("EXPLANATION"))),
  code(form("complex-coding-minimal", part("ANALYSIS"), part("APPROACH"), answer("SOLUTION"), part("TEST"))),
  math(
    form(
      "complex-math-format",
      restatement,
      group("REASONING", numbered("INSIGHT")),
      part("APPROACH"),
      part("DERIVATION"),
      answer("SOLUTION"),
      part("VERIFICATION")
    )
  ),
  math(form("complex-math-simple", part("PROBLEM_ANALYSIS"), part("SOLUTION_STEPS"), answer("FINAL_ANSWER"))),
  form(
    "complex-general-format",
    restatement,
    group("ANALYSIS", numbered("ASPECT")),
    part("REASONING"),
    answer("CONCLUSION"),
    part("REFLECTION")
  ),
  form("complex-general-simple", part("ANALYSIS"), part("REASONING"), answer("CONCLUSION")),
  form(
    "complex-research-format",
    part("HYPOTHESIS"),
    part("METHODOLOGY"),
    part("ANALYSIS"),
    part("FINDINGS"),
    answer("CONCLUSION")
  ),
  form(
    "complex-scratchpad-full",
    group("SCRATCHPAD", [
      restatement,
      thoughts,
      group("PLAN", [...criticised1!, ...criticised2!]),
      group("CITATIONS", numbered("CITATION", 1)),
      group("PYDANTIC_SCHEMAS", numbered("SCHEMA", 1)),
      part("DIAGRAM"),
      part("REFLECTION"),
      group("REVISED_PLAN", numbered("STEP"))
    ]),
    answer("SOLUTION"),
    part("EXPLANATION"),
    part("UNIT_TEST")
  ),
  form(
    "complex-scratchpad-simple",
    group("SCRATCHPAD", [restatement, thoughts, plan, part("DIAGRAM")]),
    answer("SOLUTION")
  ),
  form("complex-classification-format", firstClass!, ...otherClasses),
  form("complex-analysis-with-answer", part("ANALYSIS"), part("METHODOLOGY"), part("FINDINGS"), {
    ...answer("ANSWER"),
    begins: "ANSWER IS:"
  }),
  form(
    "complex-evaluation-format",
    part("CRITERIA"),
    group("ASSESSMENT", [1, 2].flatMap(criterion)),
    { tag: "OVERALL_SCORE", kind: "grade" },
    answer("JUDGMENT")
  )
]
