"""Writes tests/parity/vision.ltr: the deterministic maps of std.vision on one image, against torchvision's.

    python3 record_vision.py > vision.ltr        needs torch and torchvision

Bytes are equal, numbers differ by 1e-6 at most; it runs as the ctest entry parity.vision.
"""
import torch
import torchvision
import torchvision.transforms.v2.functional as V

IMAGE = ((torch.arange(90) * 37) % 251).to(torch.uint8).reshape(3, 6, 5)
ROWS = [
    ("resize(image, 4, 8)", lambda x: V.resize(x, [4, 8], antialias=True)),
    ("resize(image, 3, 3)", lambda x: V.resize(x, [3, 3], antialias=True)),
    ("resize(image, 12, 10)", lambda x: V.resize(x, [12, 10], antialias=True)),
    ("center_crop(image, 4, 3)", lambda x: V.center_crop(x, [4, 3])),
    ("center_crop(image, 3, 2)", lambda x: V.center_crop(x, [3, 2])),
    ("center_crop(image, 8, 8)", lambda x: V.center_crop(x, [8, 8])),
    ("random_flip(image, p = 1.0)", V.horizontal_flip),
    ("random_vflip(image, p = 1.0)", V.vertical_flip),
    ("pad_image(image, 2, value = 7.0)", lambda x: V.pad(x, [2], fill=7)),
    ("grayscale(image)", V.rgb_to_grayscale),
    ("grayscale(image, channels = 3)", lambda x: V.rgb_to_grayscale(x, num_output_channels=3)),
    ("gaussian_blur(image, 3, 0.8)", lambda x: V.gaussian_blur(x, [3, 3], [0.8, 0.8])),
    ("auto_contrast(image)", V.autocontrast),
    ("equalize(resize(image, 24, 20))", lambda x: V.equalize(V.resize(x, [24, 20], antialias=True))),
    ("equalize(image)", V.equalize),
    ("sharpness(image, 2.5)", lambda x: V.adjust_sharpness(x, 2.5)),
    ("sharpness(image, 0.3)", lambda x: V.adjust_sharpness(x, 0.3)),
    ("sharpness(to_float(image), 1.7)", lambda x: V.adjust_sharpness(x.float() / 255, 1.7)),
    ("posterize(image, 3)", lambda x: V.posterize(x, 3)),
    ("solarize(image, 100.0)", lambda x: V.solarize(x, 100.0)),
    ("normalize(image, [0.485, 0.456, 0.406], [0.229, 0.224, 0.225])",
     lambda x: V.normalize(x.float() / 255, [0.485, 0.456, 0.406], [0.229, 0.224, 0.225])),
    ("to_float(image)", lambda x: x.float() / 255),
    ("gaussian_blur(to_float(image), 5, 1.2)", lambda x: V.gaussian_blur(x.float() / 255, [5, 5], [1.2, 1.2])),
    ("solarize(to_float(image), 0.4)", lambda x: V.solarize(x.float() / 255, 0.4)),
    ("auto_contrast(to_float(image))", lambda x: V.autocontrast(x.float() / 255)),
]


def main():
    names = sorted({text.split("(")[0] for text, _ in ROWS})
    print(f"""ltr 1

# Written by record_vision.py: the deterministic maps of std.vision, against torchvision {torchvision.__version__.split("+")[0]}.

import std.vision.{{{", ".join(names)}}}

fn picture() -> u8[3, 6, 5] = (arange(90) * 37 % 251).to(u8).reshape(3, 6, 5)
""")
    for text, twin in ROWS:
        value = twin(IMAGE)
        dims = ", ".join(map(str, value.shape))
        if value.dtype == torch.uint8:
            numbers, tolerance = ", ".join(f"{v}.0" for v in value.flatten().tolist()), "0.0"
        else:
            numbers, tolerance = ", ".join(f"{v:.7g}" if "." in f"{v:.7g}" else f"{v:.1f}" for v in value.flatten().tolist()), "1e-6"
        print(f'test "{text}" {{\n  image = picture()\n  wanted = stack([{numbers}]).reshape({dims})')
        print(f"  assert max(abs({text}.to(float) - wanted)) <= {tolerance}\n}}\n")


if __name__ == "__main__":
    main()
