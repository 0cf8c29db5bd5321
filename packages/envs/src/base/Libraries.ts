/** Lists the lazily loaded libraries of this package; `atropos doctor` loads each, as it does those of core. */
export const lazy: { readonly [name: string]: () => Promise<unknown> } = {
  "@runno/wasi": () => import("@runno/wasi"),
  "compute-engine": () => import("#latex-syntax")
}
