package cloudformation_test

// Row D22, a Lambda ServiceToken of another region, is the delivery's: TestRecordedD22 is in internal/provider/delivery.
