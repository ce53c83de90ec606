//! The header of a baseline JPEG: what is understood completely, or nothing.

use super::huffman::Table;

/// Of one component: where its tables are.
#[derive(Clone, Copy, Default)]
pub struct Component {
    id: u8,
    /// Blocks across and down in one MCU.
    pub across: usize,
    pub down: usize,
    pub quantization: usize,
    pub dc: usize,
    pub ac: usize,
}

/// Tables and sizes; used again for the next file, of which only what it defines is read.
#[derive(Default)]
pub struct Header {
    pub height: usize,
    pub width: usize,
    pub components: Vec<Component>,
    /// MCUs between restart markers, 0 for none.
    pub restart: usize,
    /// Where the entropy-coded data starts.
    pub scan: usize,
    /// In the order of the file (zigzag); None where the file defines none.
    pub quantization: [Option<[u8; 64]>; 4],
    pub dc: [Table; 4],
    pub ac: [Table; 4],
    is_jfif: bool,
    /// The colour transform of an Adobe segment.
    adobe: Option<u8>,
}

impl Header {
    /// Read all segments up to the scan. None: not understood, or not sound; another decoder has the word then.
    pub fn read(&mut self, data: &[u8]) -> Option<()> {
        self.begin();
        let mut at = 2;
        loop {
            let &[mark, marker, high, low] = data.get(at..at + 4)?.first_chunk()?;
            if mark != 0xFF {
                return None;
            }
            let length = usize::from(u16::from_be_bytes([high, low]));
            let body = data.get(at + 4..at + 2 + length)?;
            match marker {
                0xC0 | 0xC1 => self.frame(body)?,
                0xC4 => self.huffman(body)?,
                0xDA => {
                    self.scan = at + 2 + length;
                    return self.scan_header(body);
                }
                0xDB => self.quantize(body)?,
                0xDD => self.restart = usize::from(u16::from_be_bytes(body.try_into().ok()?)),
                0xE0 => self.is_jfif |= body.len() >= 14 && body.starts_with(b"JFIF\0"),
                0xEE if body.len() >= 12 && body.starts_with(b"Adobe") => self.adobe = Some(body[11]),
                0xE1..=0xEF | 0xFE => {}
                _ => return None,
            }
            at += 2 + length;
        }
    }

    fn begin(&mut self) {
        self.components.clear();
        self.quantization = [None; 4];
        self.dc.iter_mut().chain(&mut self.ac).for_each(Table::forget);
        (self.restart, self.is_jfif, self.adobe) = (0, false, None);
    }

    fn frame(&mut self, body: &[u8]) -> Option<()> {
        let (&[precision, h1, h0, w1, w0, count], components) = body.split_first_chunk()?;
        if precision != 8 || !self.components.is_empty() || components.len() != 3 * usize::from(count) {
            return None;
        }
        (self.height, self.width) = (u16::from_be_bytes([h1, h0]).into(), u16::from_be_bytes([w1, w0]).into());
        for &[id, sampling, quantization] in components.as_chunks().0 {
            let (across, down) = (usize::from(sampling >> 4), usize::from(sampling & 15));
            let quantization = usize::from(quantization);
            self.components.push(Component { id, across, down, quantization, ..Component::default() });
        }
        Some(())
    }

    fn quantize(&mut self, mut body: &[u8]) -> Option<()> {
        while let Some((&place, rest)) = body.split_first() {
            let (values, rest) = rest.split_first_chunk::<64>()?;
            *self.quantization.get_mut(usize::from(place))? = Some(*values); // tables of 16 bits: not here
            body = rest;
        }
        Some(())
    }

    fn huffman(&mut self, mut body: &[u8]) -> Option<()> {
        while let Some((&place, rest)) = body.split_first() {
            let (counts, rest) = rest.split_first_chunk::<16>()?;
            let total = counts.iter().map(|&count| usize::from(count)).sum();
            let (symbols, rest) = rest.split_at_checked(total)?;
            let tables = match place >> 4 {
                0 => &mut self.dc,
                1 => &mut self.ac,
                _ => return None,
            };
            tables.get_mut(usize::from(place & 15))?.define(counts, symbols, place >> 4 == 0)?;
            body = rest;
        }
        Some(())
    }

    fn scan_header(&mut self, body: &[u8]) -> Option<()> {
        let (&count, rest) = body.split_first()?;
        let count = usize::from(count);
        if count == 0
            || count != self.components.len()
            || rest.len() != 2 * count + 3
            || rest[2 * count..] != [0, 63, 0]
        {
            return None;
        }
        for (component, &[id, tables]) in self.components.iter_mut().zip(rest.as_chunks().0) {
            (component.dc, component.ac) = (usize::from(tables >> 4), usize::from(tables & 15));
            let found = component.id == id
                && self.quantization.get(component.quantization)?.is_some()
                && self.dc.get(component.dc)?.is_defined()
                && self.ac.get(component.ac)?.is_defined();
            if !found {
                return None;
            }
        }
        self.is_color_known().then_some(())
    }

    /// Whether it is grey, or Y, Cb and Cr with a chroma sample for 1, 2 x 1 or 2 x 2 pixels.
    fn is_color_known(&mut self) -> bool {
        match self.components.as_mut_slice() {
            // A scan of one component has one block in an MCU, whatever it says.
            [grey] => {
                let sampled = (1..=4).contains(&grey.across) && (1..=4).contains(&grey.down);
                (grey.across, grey.down) = (1, 1);
                sampled
            }
            [y, cb, cr] => {
                let coded = match (self.is_jfif, self.adobe) {
                    (true, _) | (false, Some(1)) => true,
                    (false, Some(_)) => false,
                    (false, None) => [y.id, cb.id, cr.id] == [1, 2, 3],
                };
                let sampled = matches!((y.across, y.down), (1, 1) | (2, 1) | (2, 2));
                coded && sampled && [cb.across, cb.down, cr.across, cr.down] == [1; 4]
            }
            _ => false,
        }
    }
}
