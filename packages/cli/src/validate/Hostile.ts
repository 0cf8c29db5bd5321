/**
 * Generates adversarial texts for scoring functions: empty, huge, malformed, deeply nested, in other scripts, and
 * random ones.
 */
import { Effect, Random } from "effect"

const pieces = [
  "<think></think>",
  "\\boxed{",
  "}",
  "{",
  "$",
  "\\frac{1}{0}",
  "^",
  "answer is",
  "<think>",
  "</think>",
  "<answer>",
  "</answer>",
  '<tool_call>{"name": "',
  "</tool_call>",
  "```",
  '"',
  "\\",
  "####",
  "|",
  "-",
  "1e999",
  "NaN",
  "0",
  "7",
  ",",
  ".",
  " ",
  "\n",
  "é",
  "中",
  "😀",
  "\u0000",
  "\u202e"
]

const malformed: ReadonlyArray<string> = [
  "",
  " \n\t",
  "\u0000",
  "\ud800",
  "NaN",
  "-0",
  "Infinity",
  "9".repeat(5_000),
  "9^{9^{9^{9^9}}}",
  "\\boxed{9^{9^{9^{9}}}}",
  "\\boxed{".repeat(500),
  `${"\\boxed{".repeat(500)}${"}".repeat(500)}`,
  `\\boxed{${"(".repeat(2_000)}`,
  `\\boxed{${"|".repeat(200)}}`,
  "<think>".repeat(1_000),
  "</think>",
  "a".repeat(100_000),
  `${"a".repeat(50_000)}!`,
  " ".repeat(50_000),
  "\\boxed{1}".repeat(2_000),
  '{"a":'.repeat(2_000),
  "**".repeat(10_000),
  "The answer is ".repeat(2_000),
  "constructor __proto__ toString",
  "\n".repeat(50_000),
  "\n    ".repeat(10_000),
  "```".repeat(15_000),
  `\`\`\`json\n${"\n".repeat(30_000)}`,
  "<answer>".repeat(10_000),
  `<answer>${"a".repeat(50_000)}</answer>`,
  `<answer>${" 1,000,".repeat(10_000)}</answer>`,
  "<tool_call>".repeat(10_000),
  `<tool_call>${'"\\'.repeat(20_000)}</tool_call>`,
  `<tool_call>{"name": "a", "arguments": {"a": ${"[".repeat(40_000)}${"]".repeat(40_000)}}}</tool_call>`,
  `\\boxed{${" ".repeat(40_000)}}`
]

/** Always the same; each also after a think block, for graders that require one. */
export const fixed: ReadonlyArray<string> = malformed.flatMap((text) => [text, `<think></think>${text}`])

/** Random texts made of fragments that often break parsers. */
export const random = Effect.fn("Hostile.random")(function* (count: number) {
  const texts: Array<string> = []
  for (let made = 0; made < count; made++) {
    let text = ""
    const length = yield* Random.nextIntBetween(1, 60)
    for (let part = 0; part < length; part++) text += pieces[yield* Random.nextIntBetween(0, pieces.length)] ?? ""
    texts.push(text)
  }
  return texts
})
