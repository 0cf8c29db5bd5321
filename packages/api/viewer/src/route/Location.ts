/**
 * Parses and builds the viewer's addresses, all behind `#`, so that they work with a service, a file and bookmarks.
 *
 * `#/?run=r`, `#/groups?run=r&<filter>`, `#/groups/r/17?rollout=2&view=tokens&token=40`, `#/service?run=r`,
 * `#/evaluations/3?with=7&sample=12`.
 */

export interface Location {
  readonly path: string
  /** Without `?`. */
  readonly search: string
}

/** Parses `#/groups?run=a` to `{ path: "/groups", search: "run=a" }`. */
export const parse = (hash: string): Location => {
  const [path = "", ...search] = hash.replace(/^#?\/?/, "").split("?")
  return { path: `/${path}`, search: search.join("?") }
}

/** Decodes a path segment; unchanged if it is not validly encoded. */
export const decode = (part: string): string => {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Builds an address; null, undefined and empty parameters are omitted. */
export const format = (
  path: string,
  parameters: { readonly [name: string]: string | number | null | undefined } = {}
): string => {
  const search = new URLSearchParams(
    Object.entries(parameters).flatMap(([name, value]) =>
      value === null || value === undefined || value === "" ? [] : [[name, String(value)]]
    )
  ).toString()
  return search === "" ? path : `${path}?${search}`
}

export const runPath = (run: string | null): string => format("/", { run })
export const runsPath = (run: string | null): string => format("/runs", { run })
export const groupsPath = (run: string | null, item: string | null = null): string => format("/groups", { run, item })
export const hackingPath = (run: string | null): string => format("/hacking", { run })
export const reverifiedPath = (run: string | null): string => format("/reverified", { run })
export const notesPath = (run: string | null): string => format("/notes", { run })
/** Evaluations of a run, or all including those without a run, which are only listed there. */
export const evaluationsPath = (run: string | null = null, isOfAll = false): string =>
  format("/evaluations", { run, of: isOfAll ? "all" : null })
/** An evaluation, or a comparison of two. */
export const evaluationPath = (id: string, compared: string | null = null): string =>
  format(`/evaluations/${encodeURIComponent(id)}`, { with: compared })
export const servicePath = (run: string | null): string => format("/service", { run })

/** Selection within a group: the rollout (index in the group, from 0), and one of its tokens. */
export interface GroupFocus {
  readonly rollout?: number | null
  readonly view?: "tokens" | "compare" | "times" | null
  readonly token?: number | null
}

export const groupPath = (run: string, id: string, { rollout, token, view }: GroupFocus = {}): string =>
  format(`/groups/${encodeURIComponent(run)}/${encodeURIComponent(id)}`, { rollout, view, token })
