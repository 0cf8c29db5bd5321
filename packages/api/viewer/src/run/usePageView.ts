/** Stores the view of the run page in the address. */
import { useMemo } from "react"
import { useSearch, useSetSearch } from "../route/useHash.ts"
import { type PageView, read, write } from "../chart/PageView.ts"

export const usePageView = (): readonly [PageView, (changes: Partial<PageView>) => void] => {
  const search = useSearch()
  const setSearch = useSetSearch()
  const view = useMemo(() => read(search), [search])
  // Ranges in steps and seconds are incompatible, so changing the axis resets the zoom.
  const change = (changes: Partial<PageView>) =>
    setSearch(write({ ...view, ...(changes.axis === undefined ? {} : { range: null }), ...changes }), { replace: true })
  return [view, change]
}
