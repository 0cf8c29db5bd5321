/** Shows a picture, or a description if it cannot be shown. A click toggles its original size. */
import { useState } from "react"
import type { Image } from "./Image.ts"

export const Picture = ({ image, label }: { readonly image: Image; readonly label: string }) => {
  const [isBroken, setIsBroken] = useState(false)
  const [isLarge, setIsLarge] = useState(false)
  if (image.src === null) return <p className="image-absent">{`${label}: ${image.name}`}</p>
  if (isBroken) return <p className="image-absent">{`${label}: ${image.name} cannot be shown: corrupt data`}</p>
  return (
    <figure className={isLarge ? "picture is-large" : "picture"}>
      <button type="button" aria-pressed={isLarge} title={image.name} onClick={() => setIsLarge(!isLarge)}>
        <img src={image.src} alt={label} loading="lazy" onError={() => setIsBroken(true)} />
      </button>
    </figure>
  )
}

export const Pictures = ({ images }: { readonly images: ReadonlyArray<Image> }) =>
  images.length === 0 ? null : (
    <div className="pictures">
      {images.map((image, place) => (
        // oxlint-disable-next-line react/no-array-index-key -- pictures have no other name than their place
        <Picture key={place} image={image} label={images.length === 1 ? "picture" : `picture ${place + 1}`} />
      ))}
    </div>
  )
