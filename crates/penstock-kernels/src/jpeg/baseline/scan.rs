//! The entropy-coded data, a row of MCUs at a time: blocks that are needed become pixels of their planes.

use super::huffman::{Bits, Block, Coding, Found};
use super::idct;
use super::lines::Plane;
use super::Job;

/// A component as it stands in the data.
pub struct Part<'a> {
    pub coding: Coding<'a>,
    /// Blocks of it in an MCU.
    pub across: usize,
    pub down: usize,
}

/// Blocks that wait until there are two, and where their pixels go: plane, offset in it.
pub struct Pending {
    blocks: [Block; 2],
    places: [(usize, usize); 2],
    count: usize,
}

impl Default for Pending {
    fn default() -> Self {
        Self { blocks: [[0; 72]; 2], places: [(0, 0); 2], count: 0 }
    }
}

impl Pending {
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    fn put(&mut self, planes: &mut [Plane; 3]) {
        let rows = idct::pixels(&self.blocks[0], &self.blocks[1]);
        for (half, &(plane, offset)) in self.places[..self.count].iter().enumerate() {
            planes[plane].put(offset, rows.map(|row| row[half]));
        }
        self.count = 0;
    }
}

pub struct Scan<'a> {
    clean: &'a [u8],
    stretches: std::slice::Iter<'a, (usize, usize)>,
    restart: usize,
    /// MCUs until the next restart marker.
    left: usize,
    bits: Bits<'a>,
    dc: [i32; 3],
}

impl<'a> Scan<'a> {
    /// `stretches` are as `unstuff` leaves them: at least one.
    pub fn new(clean: &'a [u8], stretches: &'a [(usize, usize)], restart: usize) -> Self {
        let mut stretches = stretches.iter();
        let &(start, end) = stretches.next().unwrap_or(&(0, 0));
        Self { clean, stretches, restart, left: restart, bits: Bits::new(clean, start, end), dc: [0; 3] }
    }

    /// Go on past a restart marker where one is due. None: the data before it was too short, or there is none.
    #[inline(always)]
    fn begin_mcu(&mut self) -> Option<()> {
        if self.restart == 0 {
            return Some(());
        }
        if self.left == 0 {
            if self.bits.is_overdrawn() {
                return None;
            }
            let &(start, end) = self.stretches.next()?;
            self.bits = Bits::new(self.clean, start, end);
            (self.left, self.dc) = (self.restart, [0; 3]);
        }
        self.left -= 1;
        Some(())
    }

    /// Pass over a row.
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    pub fn skip_row(&mut self, parts: &[Part], mcus: usize) -> Option<()> {
        for _ in 0..mcus {
            self.begin_mcu()?;
            for (part, dc) in parts.iter().zip(&mut self.dc) {
                for _ in 0..part.across * part.down {
                    part.coding.skip(&mut self.bits, dc)?;
                }
            }
        }
        (!self.bits.is_overdrawn()).then_some(())
    }

    /// Decode the columns that `job` needs of row number `row` into `planes`; the components of `passed` are passed over.
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    pub fn decode_row(
        &mut self,
        parts: &[Part],
        passed: &[Part],
        job: &Job,
        row: usize,
        planes: &mut [Plane; 3],
        pending: &mut Pending,
    ) -> Option<()> {
        pending.count = 0;
        let mut starts = [[0; 2]; 3];
        for ((part, plane), starts) in parts.iter().zip(planes.iter()).zip(&mut starts) {
            for (down, start) in starts.iter_mut().enumerate().take(part.down) {
                *start = plane.offset((row * part.down + down) * 8, 0);
            }
        }
        for mcu in 0..job.mcus {
            self.begin_mcu()?;
            let is_needed = (job.columns[0]..job.columns[1]).contains(&mcu);
            for (number, part) in parts.iter().enumerate() {
                let dc = &mut self.dc[number];
                if !is_needed {
                    for _ in 0..part.across * part.down {
                        part.coding.skip(&mut self.bits, dc)?;
                    }
                    continue;
                }
                let x = (mcu - job.columns[0]) * part.across * 8;
                for start in &starts[number][..part.down] {
                    for across in 0..part.across {
                        let slot = &mut pending.blocks[pending.count];
                        slot[..64].fill(0);
                        let found = part.coding.block(&mut self.bits, dc, slot)?;
                        let place = start + x + across * 8;
                        if found == Found::Flat {
                            planes[number].put(place, [idct::flat(slot[0]); 8]);
                            continue;
                        }
                        pending.places[pending.count] = (number, place);
                        pending.count += 1;
                        if pending.count == 2 {
                            pending.put(planes);
                        }
                    }
                }
            }
            for (part, dc) in passed.iter().zip(&mut self.dc[parts.len()..]) {
                for _ in 0..part.across * part.down {
                    part.coding.skip(&mut self.bits, dc)?;
                }
            }
        }
        if pending.count > 0 {
            pending.put(planes);
        }
        (!self.bits.is_overdrawn()).then_some(())
    }
}
