-- What retention removes, and what operators count.
CREATE INDEX links_by_interrupt ON links (interrupt_id);
CREATE INDEX shelf_parked ON shelf (received_at) WHERE state = 'parked';
