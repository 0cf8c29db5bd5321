/**
 * What a leaf may be written with: characters and commands of which the engine's reader keeps the meaning.
 *
 * It drops others without a word (`5\#6`, `5\%6` and `\cancel{6}5` come back as numbers), and a dropped sign makes
 * another answer. What is not listed cannot be read, and equals only what is written the same way.
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
 * A point that is not in a number, several in one, a comma in braces, a sign with nothing before it that it could
 * belong to, digits of which a command takes the first alone (`\sqrt10`).
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

/** Whether the reader can be trusted with a leaf. */
export const isKnown = (leaf: string): boolean =>
  characters.test(leaf) &&
  !misplaced.test(leaf) &&
  isBalanced(leaf) &&
  [...leaf.matchAll(/\\([a-zA-Z]+|[^])?/g)].every(([, name = ""]) => commands.has(name))
