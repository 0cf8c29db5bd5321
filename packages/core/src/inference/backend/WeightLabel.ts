/**
 * The label of a vLLM server's weights (`weight_version` of `GET /weight_info`), written by a trainer that loads whole
 * weights into the server, and read by samplers.
 *
 * `policy-r-v3`: these weights answer. `policy-r-v3>policy-r-v4`: they still do, others are about to be loaded.
 * `>policy-r-v4`: these are loaded, perhaps partially, and not verified yet: answers in this state are of unknown
 * weights. Names are never reused for different weights.
 */
export interface WeightLabel {
  /** Name of the weights that answer; undefined: unknown. */
  readonly name: string | undefined
  /** True if no others are being loaded. */
  readonly isSettled: boolean
}

const mark = ">"

/** `name` still answers, `next` is about to be loaded. */
export const leaving = (name: string, next: string): string => `${name}${mark}${next}`

/** `next` is being loaded or verified. */
export const arriving = (next: string): string => `${mark}${next}`

export const read = (label: string): WeightLabel => {
  const at = label.indexOf(mark)
  return at < 0
    ? { name: label, isSettled: true }
    : { name: at === 0 ? undefined : label.slice(0, at), isSettled: false }
}

const numbered = /^(.*?)(\d{1,15})$/

/** A name of weights and the number at its end. */
export const parse = (name: string) => {
  const [, stem = name, digits] = numbered.exec(name) ?? []
  return { name, stem, policyVersion: digits === undefined ? undefined : Number(digits) }
}

/** Policy version of a weights' name: the number at its end; undefined if none. */
export const versionOf = (name: string): number | undefined => parse(name).policyVersion
