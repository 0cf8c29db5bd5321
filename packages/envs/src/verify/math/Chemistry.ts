/** Parses chemical formulas in LaTeX, mhchem and plain text. */

const elements =
  "A[cglmrstu]|B[aehikr]?|C[adeflmnorsu]?|D[bsy]|E[rsu]|F[elmr]?|G[ade]|H[efgos]?|I[nr]?|Kr?|L[airuv]|M[cdgnot]|N[abdehiop]?|Os?|" +
  "P[abdmortu]?|R[abefghnu]|S[bcegimnr]?|T[abcehilms]|U|V|W|Xe|Yb?|Z[nr]"
const formula = new RegExp(`^(?:(?:${elements})|\\d|[()[\\]])+$`)
const wrappers = /\\(?:ce|text|mathrm|rm|mbox|mathsf|boxed|fbox)(?![a-zA-Z])|[\s${}_]/g
const subscripts = "₀₁₂₃₄₅₆₇₈₉"
const maxLength = 200

/** `H2SO4` for `H_2SO_4`, `\ce{H2SO4}` and H₂SO₄, with its charge after `^`; undefined for anything else. */
export const canonical = (text: string): string | undefined => {
  if (text.length > maxLength || !/[A-Z]/.test(text)) return undefined
  const bare = text
    .replaceAll(/[₀-₉]/g, (digit) => String(subscripts.indexOf(digit)))
    .replaceAll(wrappers, "")
    .replace(/\.$/, "")
  const [, body = "", charge, sign] = /^([^^+-]*)(?:\^(\d*[+-])|([+-]))?$/.exec(bare) ?? []
  if (!formula.test(body) || !/[A-Z]/.test(body)) return undefined
  return `${body}^${charge ?? sign ?? ""}`
}
