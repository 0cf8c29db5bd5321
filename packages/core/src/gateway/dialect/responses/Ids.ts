/**
 * Ids of responses and their items, which identify their answer.
 *
 *     resp_4f2a   rs_4f2a_0   msg_4f2a_0   fc_4f2a_1
 *
 * A client sends items back individually, in any order; their ids allow joining those of one answer into one message.
 * Ids of other services do not end in an ordinal, and are ignored.
 */
export type Kind = "reasoning" | "message" | "call"

const prefixes: { readonly [kind in Kind]: string } = { reasoning: "rs", message: "msg", call: "fc" }

/** An item's position: its answer, and for a call its index among the answer's calls. */
export interface ItemRef {
  readonly answer: string
  readonly kind: Kind
  readonly ordinal: number
}

export const response = (answer: string): string => `resp_${answer}`

export const item = ({ answer, kind, ordinal }: ItemRef): string => `${prefixes[kind]}_${answer}_${ordinal}`

const written = /^(rs|msg|fc)_([A-Za-z0-9]+)_(\d{1,6})$/
const kinds = new Map(Object.entries(prefixes).map(([kind, prefix]) => [prefix, kind as Kind]))

/** Parses an item's id; undefined for other services' ids. */
export const parse = (id: string | null | undefined): ItemRef | undefined => {
  const [, prefix = "", answer = "", ordinal = ""] = written.exec(id ?? "") ?? []
  const kind = kinds.get(prefix)
  return kind === undefined ? undefined : { answer, kind, ordinal: Number(ordinal) }
}
