package cloudformation_test

// Row D22, a Lambda ServiceToken in another region, is tested by TestRecordedD22 in internal/provider/delivery.
