"""Writes packages/envs/test/fixtures/pictures.parquet as the `datasets` library does: three pictures with questions, one of them broken.

Usage: python scripts/make-image-fixture.py (needs datasets and pillow).
"""

import io
from pathlib import Path

from datasets import Dataset, Features, Image, Sequence, Value
from PIL import Image as Pillow
from PIL import ImageDraw

FIXTURES = Path(__file__).parent.parent / "packages" / "envs" / "test" / "fixtures"


def picture(colour, size=(64, 48)):
    image = Pillow.new("RGB", size, "white")
    ImageDraw.Draw(image).ellipse((12, 8, 44, 40), fill=colour)
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


rows = [
    {"image": {"bytes": picture("red"), "path": "red.png"}, "question": "What colour is the disc?", "answers": ["red"]},
    {"image": {"bytes": picture("blue")[:90], "path": "cut.png"}, "question": "What colour is the cut disc?", "answers": ["blue"]},
    {"image": {"bytes": picture("green"), "path": None}, "question": "Which shape is green?", "answers": ["disc", "circle"]},
]
features = Features({"image": Image(decode=False), "question": Value("string"), "answers": Sequence(Value("string"))})
Dataset.from_list(rows, features=features).to_parquet(FIXTURES / "pictures.parquet")
