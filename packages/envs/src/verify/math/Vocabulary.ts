/**
 * Defines the allowed notation of a leaf: characters and commands whose meaning the engine's parser preserves.
 *
 * It silently drops others (`5\#6`, `5\%6` and `\cancel{6}5` are returned as numbers), and a dropped sign changes the
 * answer. Anything not listed is unreadable, and only equals identical text.
 */

const commands = new Set(
  (
    "frac sqrt binom over choose cdot times infty pi ln log lg lb exp sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh max min sum prod " +
    "lfloor rfloor lceil rceil alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi rho sigma tau " +
    "upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Sigma Phi Psi Omega ell"
  ).split(" ")
)

const characters = /^[a-zA-Z\d\s+\-*/^_{}()[\]|!.,'\\=]*$/
/**
 * A point outside of a number, several in one, a comma in braces, a sign without an operand before it, digits of which
 * a command only takes the first (`\sqrt10`).
 */
const misplaced =
  /\.(?!\d)|\d\s+\.|\.\d+\s*\.|\{\s*,|,\s*\}|(?<![a-zA-Z'})\d\]])['!]|\\sqrt\s*\d[\d.]|\\(?:frac|binom)\s*\d\s*\d[\d.]|\\(?:max|min)(?!\s*(?:[({_]|\\\{))/

const isBalanced = (text: string): boolean => {
  let depth = 0
  for (const character of text) {
    if (character === "{") depth += 1
    else if (character === "}" && --depth < 0) return false
  }
  return depth === 0
}

/** True if the parser can be trusted with a leaf. */
export const isKnown = (leaf: string): boolean =>
  characters.test(leaf) &&
  !misplaced.test(leaf) &&
  isBalanced(leaf) &&
  [...leaf.matchAll(/\\([a-zA-Z]+|[^])?/g)].every(([, name = ""]) => commands.has(name))
