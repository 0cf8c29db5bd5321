/**
 * A moment at which a whole program kills itself by -9, always the same one: before or after something that can be seen
 * from outside of it, at its n-th time in that process.
 */
export type When = "before" | "after"

export interface KillMoment {
  /**
   * What is counted. `answered`: answers to requests, by `METHOD path`: before one is written, all of its work done, or
   * after. `asked`: requests, by the same: before one is sent, or after its answer has come. `renamed`: files that get
   * their name by renaming, by their path.
   */
  readonly of: "answered" | "asked" | "renamed"
  readonly when: When
  readonly what: RegExp
  /** From 1, which is the default. */
  readonly nth?: number
}

/** The environment variable that tells a program of its moment. */
export const variable = "ATROPOS_TEST_KILL_AT"

/** For messages. */
export const format = ({ nth = 1, of, what, when }: KillMoment): string => `${when} it ${of} ${what} (${nth})`

export const encode = (moment: KillMoment): string => JSON.stringify({ ...moment, what: moment.what.source })

/** What `encode` wrote. */
export const decode = (text: string): KillMoment => {
  const moment = JSON.parse(text) as Omit<KillMoment, "what"> & { readonly what: string }
  return { ...moment, what: new RegExp(moment.what) }
}
