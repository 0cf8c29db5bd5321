/**
 * Removes braces without visible effect: `2{3}` is printed 23, and is read as that.
 *
 * Braces that are arguments of a command, `^` or `_` stay, as do those around a list (a set written without its
 * backslashes) and around `\over` and `\choose`, which apply to them. Linear in the text.
 */

const two = ["frac", "binom", "overset", "underset", "stackrel", "textcolor"]
const one =
  "sqrt text overline underline bar hat dot ddot vec tilde widehat widetilde overrightarrow mathbb mathcal mathfrak mathbf boldsymbol begin " +
  "end pmod boxed fbox cancel bcancel xcancel phantom hspace color operatorname mathrm " +
  "sin cos tan cot sec csc ln log lg exp arcsin arccos arctan sinh cosh tanh max min sup inf gcd lcm det dim deg lim group"

const arities = new Map([...two.map((name) => [name, 2] as const), ...one.split(" ").map((name) => [name, 1] as const)])

interface Open {
  /** Start of the group's content in the output so far. */
  readonly at: number
  readonly isArgument: boolean
  /** Arguments that follow it. */
  readonly awaited: number
}

const keeps = /[,;]|\\(?:over|choose|atop)(?![a-zA-Z])/

/** A root includes its degree, an array its columns. */
const tokens = /\\sqrt\s*\[[^[\]{}]*\]|\\begin\{array\}\s*\{[^{}]*\}|\\[a-zA-Z]+|\\[^]|[^]/g

/** The text without stray braces; unbalanced ones are kept. */
export const ungrouped = (text: string): string => {
  if (!text.includes("{")) return text
  const written: Array<string> = []
  const open: Array<Open> = []
  let awaited = 0
  for (const [token] of text.matchAll(tokens)) {
    if (token === "}") {
      const group = open.pop()
      const content = group === undefined ? [] : written.slice(group.at + 1)
      if (group === undefined || group.isArgument || keeps.test(content.join(""))) written.push("}")
      else {
        // A command before letters must not merge with them.
        const joins = /^\\[a-zA-Z]+$/.test(written[group.at - 1] ?? "") && /^[a-zA-Z]/.test(content[0] ?? "")
        written[group.at] = joins ? " " : ""
      }
      awaited = group?.awaited ?? 0
      continue
    }
    if (token === "{") {
      open.push({ at: written.length, isArgument: awaited > 0, awaited: Math.max(0, awaited - 1) })
      awaited = 0
    } else if (token === "^" || token === "_") awaited += 1
    else if (/\S/.test(token)) {
      const [, command = ""] = /^\\([a-zA-Z]+)/.exec(token) ?? []
      const isWhole = token.startsWith("\\begin{")
      awaited = Math.max(0, awaited - 1) + (isWhole ? 0 : (arities.get(command) ?? 0))
    }
    written.push(token)
  }
  return written.join("")
}
