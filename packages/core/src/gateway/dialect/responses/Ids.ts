/**
 * Ids of responses and of their items, which say what answer they are of.
 *
 *     resp_4f2a   rs_4f2a_0   msg_4f2a_0   fc_4f2a_1
 *
 * A client sends items back one by one, in an order of its own; by their ids those of one answer become one message
 * again. Ids of other services end in no ordinal, and say nothing here.
 */
export type Kind = "reasoning" | "message" | "call"

const prefixes: { readonly [kind in Kind]: string } = { reasoning: "rs", message: "msg", call: "fc" }

/** An item's place: the answer it is of, and for a call which of the answer's calls. */
export interface Place {
  readonly answer: string
  readonly kind: Kind
  readonly ordinal: number
}

export const response = (answer: string): string => `resp_${answer}`

export const item = ({ answer, kind, ordinal }: Place): string => `${prefixes[kind]}_${answer}_${ordinal}`

const written = /^(rs|msg|fc)_([A-Za-z0-9]+)_(\d{1,6})$/
const kinds = new Map(Object.entries(prefixes).map(([kind, prefix]) => [prefix, kind as Kind]))

/** What an item's id says; undefined for ids that are not from here. */
export const placeOf = (id: string | null | undefined): Place | undefined => {
  const [, prefix = "", answer = "", ordinal = ""] = written.exec(id ?? "") ?? []
  const kind = kinds.get(prefix)
  return kind === undefined ? undefined : { answer, kind, ordinal: Number(ordinal) }
}
